import { indexesToRanges, type IndexRanges } from "../../../core/model/job/array-range.ts";
import type { JobId } from "../../../core/model/ids.ts";
import { parseTaskId } from "../../../core/model/ids.ts";
import { hasIndexes } from "../../../core/model/job/job.ts";
import { checkValue, REASON_RULE } from "../../../core/model/texts.ts";
import { readCondition } from "../../../core/state/decide/if-revision.ts";
import type { State } from "../../../core/state/state.ts";
import { checkRule } from "../../../lib/rules/check-rule.ts";
import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { TaskList } from "../../views/list-tasks.ts";
import type { JobView } from "../../views/views.ts";
import type { OperationContext } from "../create-operations.ts";
import { requireJob, viewJob } from "../job-operations.ts";
import type { Caller, CallerOperations, ChangeCondition } from "../operations.ts";

type JobChangeOperations = Pick<
  CallerOperations,
  "cancelJob" | "holdJob" | "releaseJob" | "requeueJob" | "updateJob" | "rerunJob"
>;

/** Changes of submitted jobs. */
export function createJobChangeOperations({ loop, clock }: OperationContext): JobChangeOperations {
  /** The job or task that a caller names, and the fields that all changes share. */
  const named = async (caller: Caller, id: string, condition: ChangeCondition | undefined) => {
    const { jobId, index } = parseTaskId(id, "id");
    return {
      jobId,
      index: await loop.read((state) => taskIndexOf(state, jobId, index)),
      by: caller.name,
      nowMs: clock.nowMs(),
      ...readCondition(condition),
    };
  };
  const shown = (jobId: JobId): Promise<JobView> =>
    loop.read((state) => viewJob(state, requireJob(state, String(jobId))));
  return {
    async cancelJob(caller, id, reason, condition) {
      const text = reasonOf(reason, `cancelled by ${caller.name}`);
      const about = await named(caller, id, condition);
      await loop.submit({ kind: "cancel-job", ...about, reason: text });
      return shown(about.jobId);
    },

    async holdJob(caller, id, reason, condition) {
      const text = reasonOf(reason, `held by ${caller.name}`);
      const about = await named(caller, id, condition);
      await loop.submit({ kind: "hold-job", ...about, hold: { reason: text } });
      return shown(about.jobId);
    },

    async releaseJob(caller, id, condition) {
      const about = await named(caller, id, condition);
      await loop.submit({ kind: "hold-job", ...about, hold: undefined });
      return shown(about.jobId);
    },

    async requeueJob(caller, id, reason, condition) {
      const text = reasonOf(reason, `requeued by ${caller.name}`);
      const about = await named(caller, id, condition);
      await loop.submit({ kind: "requeue-job", ...about, reason: text });
      return shown(about.jobId);
    },

    async updateJob(caller, id, { priority, timeLimitMs, group, ...condition }) {
      const jobId = wholeJob(id);
      const set = { priority, timeLimitMs: timeLimitMs === 0 ? null : timeLimitMs, group };
      const by = caller.name;
      await loop.submit({ kind: "update-job", jobId, set, by, ...readCondition(condition) });
      return shown(jobId);
    },

    async rerunJob(caller, id, { failedOnly, idempotencyKey, ...condition }) {
      const jobId = wholeJob(id);
      if (idempotencyKey !== undefined) {
        checkValue(idempotencyKey, "idempotencyKey", limits.idempotencyKeyLengthMax);
      }
      const only = failedOnly === true ? await failedOf(jobId) : undefined;
      const nowMs = clock.nowMs();
      const command = { kind: "rerun-job", jobId, only, idempotencyKey, nowMs } as const;
      const by = caller.name;
      const answer = await loop.submit({ ...command, by, ...readCondition(condition) });
      const job = { id: String(answer.id), existed: answer.existed };
      return { jobs: [job], revision: loop.revision };
    },
  };

  /** The failed tasks of an array, read in slices; undefined: a job without array that failed. */
  async function failedOf(jobId: JobId): Promise<IndexRanges | undefined> {
    const id = String(jobId);
    const indexes: number[] = [];
    for (let from: number | undefined = 0; from !== undefined;) {
      const list: TaskList<number> = new TaskList({ states: ["failed"], size: Infinity, from });
      await loop.readSlices((state) => list.slice(requireJob(state, id), (index) => index));
      indexes.push(...list.found);
      from = list.next;
    }
    if (indexes.length === 0) throw new AppError("conflict", `no task of job ${id} has failed`);
    const { spec } = await loop.read((state) => requireJob(state, id).job);
    if (spec.energy !== undefined) {
      throw new AppError("conflict", `job ${id} is split by energy: rerun the whole job`);
    }
    return spec.array === undefined ? undefined : indexesToRanges(indexes, "failedOnly");
  }
}

function reasonOf(reason: string, otherwise: string): string {
  checkRule(reason, "reason", REASON_RULE);
  return reason === "" ? otherwise : reason;
}

function wholeJob(id: string): JobId {
  const { jobId, index } = parseTaskId(id, "id");
  if (index === undefined) return jobId;
  throw invalid("id", `${id} is one task; name the job, ${jobId}`);
}

/** "17.0" of a job without array means the job itself. */
function taskIndexOf(state: State, id: JobId, index: number | undefined): number | undefined {
  const spec = state.jobs.get(id)?.job.spec;
  const isOne = spec !== undefined && !hasIndexes(spec) && (index ?? 0) === 0;
  return isOne ? undefined : index;
}
