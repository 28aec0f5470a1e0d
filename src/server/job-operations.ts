import { hasIndex, indexAt } from "../core/model/array-range.ts";
import type { JobId } from "../core/model/ids.ts";
import { groupId, parseTaskId } from "../core/model/ids.ts";
import { isWaiting } from "../core/scheduler/request.ts";
import type { Lane } from "../core/scheduler/lane.ts";
import type { JobRecord } from "../core/state/job-record.ts";
import { isEverPossible, isNothingKnown } from "../core/state/decide/check-possible.ts";
import { describeWaiting } from "../core/state/dependencies/describe.ts";
import { taskStateName } from "../core/state/progress.ts";
import type { State } from "../core/state/state.ts";
import { AppError, invalid } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { OperationContext } from "./create-operations.ts";
import { describeTaken } from "./explain-taken.ts";
import { explainJob } from "./explain-job.ts";
import { numberFromPageToken, pageSizeOf, toPageToken } from "./paging.ts";
import type { JobFilter, Operations } from "./operations.ts";
import { showJob, showTask } from "./show.ts";
import type { JobView, TaskView } from "./views.ts";

type JobOperations = Pick<
  Operations,
  "getJob" | "listJobs" | "countJobs" | "listTasks" | "getTask" | "cancelJob" | "explainJob"
>;

export function createJobOperations({ loop, clock, policy }: OperationContext): JobOperations {
  return {
    getJob: (id) => loop.read((state, revision) => viewJob(state, requireJob(state, id), revision)),

    listJobs: (filter, page) =>
      loop.read((state, revision) => {
        const size = pageSizeOf(page);
        const before = numberFromPageToken("jobs", page);
        const { records, next } = scanJobs(state, filter, size, before);
        return {
          jobs: records.map((record) => viewJob(state, record, revision)),
          ...(next === undefined ? {} : { nextPageToken: toPageToken("jobs", String(next)) }),
          revision,
        };
      }),

    countJobs: (group) =>
      loop.read((state, revision) => {
        const tally = group === undefined ? state.totals : state.groups.get(groupId(group));
        if (tally === undefined) throw new AppError("not_found", `there is no group ${group}`);
        return { jobs: { ...tally.jobs }, tasks: { ...tally.tasks }, revision };
      }),

    listTasks: (id, states, page) =>
      loop.read((state, revision) => {
        const record = requireJob(state, id);
        const from = numberFromPageToken("tasks", page) ?? 0;
        const { tasks, next } = scanTasks(state, record, new Set(states), pageSizeOf(page), from);
        return {
          tasks,
          ...(next === undefined ? {} : { nextPageToken: toPageToken("tasks", String(next)) }),
          revision,
        };
      }),

    getTask: (id) =>
      loop.read((state) => {
        const { record, index } = requireTask(state, id);
        return viewTask(state, record, index);
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

    explainJob: (id) => loop.read((state) => explainJob(state, requireJob(state, id), policy)),
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

export function viewJob(state: State, record: JobRecord, revision: number): JobView {
  const { job, progress } = record;
  const only = job.spec.array === undefined ? record.task(0) : undefined;
  const hasNotBegun = progress.state === "pending" || progress.state === "accepted";
  const waits = hasNotBegun ? pendingReason(state, record) : undefined;
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

export const viewTask = (state: State, record: JobRecord, index: number): TaskView =>
  showTask(record.job, index, record.task(index), clusterIn(state));

/** Reading a folded job takes as long as looking at this many others. */
export const UNFOLDING_LOOKS = 8;

/** From the newest down. Looks at a bounded number of jobs, whatever the filter. */
function scanJobs(
  state: State,
  filter: JobFilter,
  size: number,
  before: number | undefined,
): { readonly records: JobRecord[]; readonly next: number | undefined } {
  const order = state.jobOrder;
  const records: JobRecord[] = [];
  let at = before === undefined ? order.length : lowerBound(order, before);
  let looked = 0;
  while (at > 0 && looked < limits.listScanMax && records.length < size) {
    at--;
    const id = order[at] as JobId;
    const lane = state.jobs.foldedIn(id);
    looked += lane === undefined ? 1 : UNFOLDING_LOOKS;
    if (lane !== undefined && !laneMatches(lane, filter)) continue;
    const record = state.jobs.get(id);
    if (record !== undefined && jobMatches(state, record, filter)) records.push(record);
  }
  return { records, next: at > 0 ? order[at] : undefined };
}

/** Where the first id that is not below `id` stands. */
export function lowerBound(order: readonly number[], id: number): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((order[middle] ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether jobs that only wait, in this lane, can match at all: most do not, and stay folded. */
function laneMatches(lane: Lane, { states, group, cluster, node }: JobFilter): boolean {
  if (states !== undefined && states.length > 0 && !states.includes("pending")) return false;
  if (group !== undefined && lane.group.group.id !== group) return false;
  return cluster === undefined && node === undefined; // they have been on none
}

function jobMatches(state: State, record: JobRecord, filter: JobFilter): boolean {
  const { spec } = record.job;
  const { states, group, labels, cluster, node, name } = filter;
  if (states !== undefined && states.length > 0 && !states.includes(record.progress.state)) {
    return false;
  }
  if (group !== undefined && spec.group !== group) return false;
  if (name !== undefined && spec.name !== name) return false;
  for (const label in labels) if (spec.labels[label] !== labels[label]) return false;
  if (cluster === undefined && node === undefined) return true;
  const clusterOf = clusterIn(state);
  for (const { state: at, past } of record.taskRows()) {
    const nodes = past.map(({ nodeId }) => nodeId as string);
    if ("nodeId" in at && at.nodeId !== undefined) nodes.push(at.nodeId);
    if (at.kind === "offered" && node === undefined && at.cluster === cluster) return true;
    const hits = nodes.some(
      (id) =>
        (node === undefined || id === node) && (cluster === undefined || clusterOf(id) === cluster),
    );
    if (hits) return true;
  }
  return false;
}

function scanTasks(
  state: State,
  record: JobRecord,
  wanted: ReadonlySet<string>,
  size: number,
  from: number,
): { readonly tasks: TaskView[]; readonly next: number | undefined } {
  const tasks: TaskView[] = [];
  let position = from;
  for (let looked = 0; looked < limits.listScanMax && tasks.length < size; looked++) {
    const index = indexAt(record.ranges, position);
    if (index === undefined) return { tasks, next: undefined };
    position++;
    const name = taskStateName(record.job, record.task(index)?.state);
    if (wanted.size === 0 || wanted.has(name)) tasks.push(viewTask(state, record, index));
  }
  const isMore = indexAt(record.ranges, position) !== undefined;
  return { tasks, next: isMore ? position : undefined };
}
