import { hasIndex, indexAt } from "../../core/model/job/array-range.ts";
import type { JobId } from "../../core/model/ids.ts";
import { groupId, parseTaskId } from "../../core/model/ids.ts";
import { isWaiting } from "../../core/scheduler/request.ts";
import type { JobRecord } from "../../core/state/jobs/job-record.ts";
import { isEverPossible, isNothingKnown } from "../../core/state/decide/tasks/check-possible.ts";
import { describeWaiting } from "../../core/state/dependencies/describe.ts";
import type { State } from "../../core/state/state.ts";
import { AppError, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { OperationContext } from "./create-operations.ts";
import { describeTaken } from "../views/explain-taken.ts";
import { explainJob, queuedFor } from "../views/explain-job.ts";
import { matchInSlices } from "../loop/match-in-slices.ts";
import { JobList } from "../views/list-jobs.ts";
import { TaskList } from "../views/list-tasks.ts";
import { numberFromPageToken, pageSizeOf, toPageToken } from "../views/paging.ts";
import type { CallerOperations } from "./operations.ts";
import type { QueueReasons } from "../views/queue-reasons.ts";
import { showJob, showTask } from "../views/show.ts";
import type { JobView, TaskView } from "../views/views.ts";

type JobOperations = Pick<
  CallerOperations,
  "getJob" | "listJobs" | "countJobs" | "listTasks" | "getTask" | "cancelJob" | "explainJob"
>;

export function createJobOperations(context: OperationContext): JobOperations {
  const { loop, clock, policy } = context;
  const { queueReasons } = context.sessions;
  return {
    getJob: (_caller, id) =>
      loop.read((state, revision) => viewJob(state, requireJob(state, id), revision, queueReasons)),

    async listJobs(_caller, filter, page) {
      const below = numberFromPageToken("jobs", page);
      const list = new JobList<JobView>({ filter, size: pageSizeOf(page), below });
      const revision = await loop.readSlices((state, seen) =>
        list.slice(state, (record) => viewJob(state, record, seen, queueReasons)),
      );
      const { found: jobs, next } = list;
      return {
        jobs,
        ...(next === undefined ? {} : { nextPageToken: toPageToken("jobs", String(next)) }),
        revision,
      };
    },

    countJobs: (_caller, group) =>
      loop.read((state, revision) => {
        const tally = group === undefined ? state.totals : state.groups.get(groupId(group));
        if (tally === undefined) throw new AppError("not_found", `there is no group ${group}`);
        return { jobs: { ...tally.jobs }, tasks: { ...tally.tasks }, revision };
      }),

    async listTasks(_caller, id, states, page) {
      const from = numberFromPageToken("tasks", page) ?? 0;
      const list = new TaskList<TaskView>({ states, size: pageSizeOf(page), from });
      const revision = await loop.readSlices((state) => {
        const record = requireJob(state, id);
        return list.slice(record, (index) => viewTask(state, record, index, queueReasons));
      });
      const { found: tasks, next } = list;
      return {
        tasks,
        ...(next === undefined ? {} : { nextPageToken: toPageToken("tasks", String(next)) }),
        revision,
      };
    },

    getTask: (_caller, id) =>
      loop.read((state) => {
        const { record, index } = requireTask(state, id);
        return viewTask(state, record, index, queueReasons);
      }),

    async cancelJob(caller, id, reason) {
      const { jobId, index } = parseTaskId(id, "id");
      if (reason.length > limits.reasonLengthMax) {
        throw invalid("reason", `at most ${limits.reasonLengthMax} characters`);
      }
      const nowMs = clock.nowMs();
      const text = reason === "" ? `cancelled by ${caller.name}` : reason;
      await loop.submit({
        kind: "cancel-job",
        jobId,
        index: await loop.read((state) => taskIndexOf(state, jobId, index)),
        reason: text,
        by: caller.name,
        nowMs,
      });
      return loop.read((state, revision) =>
        viewJob(state, requireJob(state, String(jobId)), revision),
      );
    },

    async explainJob(_caller, id) {
      const queued = loop.peek((state) => queuedFor(state, requireJob(state, id)));
      if (queued !== undefined) await matchInSlices(loop, [queued.job.spec]);
      return loop.read((state) => explainJob(state, requireJob(state, id), policy, queueReasons));
    },
  };
}

/** "17.0" of a job without array means the job itself. */
function taskIndexOf(state: State, id: JobId, index: number | undefined): number | undefined {
  const isArray = state.jobs.get(id)?.job.spec.array !== undefined;
  return isArray || (index ?? 0) > 0 ? index : undefined;
}

export function requireJob(state: State, id: string): JobRecord {
  const { jobId, index } = parseTaskId(id, "id");
  const record = state.jobs.get(jobId);
  if (record === undefined) throw new AppError("not_found", `there is no job ${jobId}`);
  if (index !== undefined && !hasIndex(record.ranges, index)) {
    throw new AppError("not_found", `job ${jobId} has no task ${index}`);
  }
  return record;
}

export function requireTask(
  state: State,
  id: string,
): { readonly record: JobRecord; readonly index: number } {
  const record = requireJob(state, id);
  const { index } = parseTaskId(id, "id");
  if (index !== undefined) return { record, index };
  const only = record.job.spec.array === undefined ? 0 : undefined;
  if (only === undefined) {
    const first = `${id}.${indexAt(record.ranges, 0)}`;
    throw invalid("id", `job ${id} is an array; name one of its tasks, like ${first}`);
  }
  return { record, index: only };
}

const clusterIn =
  (state: State) =>
  (node: string): string | undefined =>
    state.nodes.get(node as never)?.node.cluster;

export function viewJob(
  state: State,
  record: JobRecord,
  revision: number,
  queueReasons?: QueueReasons,
): JobView {
  const { job, progress } = record;
  const only = job.spec.array === undefined ? record.task(0) : undefined;
  const hasNotBegun = progress.state === "pending" || progress.state === "accepted";
  const pending = hasNotBegun ? pendingReason(state, record) : undefined;
  const waits = pending ?? queueReasons?.describe(record);
  const extra = { only, revision, ...(waits === undefined ? {} : { pendingReason: waits }) };
  return showJob(job, progress, extra);
}

/** What is known without looking at every node. */
function pendingReason(state: State, record: JobRecord): string | undefined {
  const hold = state.holds.get(record.job.id);
  if (hold !== undefined) return describeWaiting(state.jobs, state.holds, hold);
  const { pending, waiting } = record.progress.counts;
  if (pending + waiting === 0) return describeTaken(record);
  const { spec } = record.job;
  if (isNothingKnown(state, spec)) return "no node has joined yet";
  const request = state.queue.classOf(spec);
  if (request === undefined || !isWaiting(request)) return undefined;
  if (!isEverPossible(state, spec)) return "nothing there is could ever run it";
  return spec.request === undefined
    ? "no node has room for it now"
    : "no node or cluster has room for it now";
}

export function viewTask(
  state: State,
  record: JobRecord,
  index: number,
  queueReasons?: QueueReasons,
): TaskView {
  const task = record.task(index);
  const view = showTask(record.job, index, task, clusterIn(state));
  const reason = queueReasons?.of(task);
  return reason === undefined ? view : { ...view, reason: `waits in ${reason}` };
}
