import { hasIndex, indexAt } from "../core/model/array-range.ts";
import type { JobId } from "../core/model/ids.ts";
import { groupId, parseTaskId } from "../core/model/ids.ts";
import type { JobSpec } from "../core/model/job.ts";
import { toJobSpec } from "../core/model/job-spec.ts";
import { hintsFor, isHopeless, outlook } from "../core/scheduler/explain.ts";
import type { Outlook } from "../core/scheduler/explain.ts";
import type { Submission } from "../core/state/command.ts";
import type { Lane } from "../core/scheduler/lane.ts";
import type { JobRecord } from "../core/state/job-record.ts";
import { describeWaiting } from "../core/state/dependencies/describe.ts";
import { reasonsOf } from "../core/state/dependencies/reasons.ts";
import { isJobEnded, taskStateName } from "../core/state/progress.ts";
import type { State } from "../core/state/state.ts";
import { AppError, invalid } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { OperationContext } from "./create-operations.ts";
import { numberFromPageToken, pageSizeOf, toPageToken } from "./paging.ts";
import type { JobFilter, Operations, SubmissionInput, SubmittedView } from "./operations.ts";
import { showJob, showTask } from "./show.ts";
import type { ExplanationView, JobView, TaskView } from "./views.ts";

type JobOperations = Pick<
  Operations,
  | "submitJobs"
  | "getJob"
  | "listJobs"
  | "countJobs"
  | "listTasks"
  | "getTask"
  | "cancelJob"
  | "explainJob"
>;

export function createJobOperations({ loop, clock }: OperationContext): JobOperations {
  return {
    async submitJobs(caller, jobs) {
      if (jobs.length === 0) throw invalid("jobs", "must name at least one job");
      if (jobs.length > limits.submitJobsMax) {
        throw invalid("jobs", `at most ${limits.submitJobsMax} in one call, not ${jobs.length}`);
      }
      const submissions: Submission[] = [];
      let like: JobSpec | undefined;
      for (const input of jobs) {
        const next = checkSubmission(input, like, submissions.length);
        like = next.spec;
        submissions.push(next);
      }
      const nowMs = clock.nowMs();
      const command = { kind: "submit-jobs", submissions, by: caller.name, nowMs } as const;
      const answer = await loop.submit(command);
      return {
        jobs: loop.peek((state) =>
          answer.map(({ id, existed }, at) =>
            showSubmitted(state, id, { existed, spec: submissions[at]?.spec }),
          ),
        ),
        revision: loop.revision,
      };
    },

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

    explainJob: (id) => loop.read((state) => explain(state, requireJob(state, id))),
  };
}

/** "17.0" of a job without array means the job itself. */
function taskIndexOf(state: State, id: JobId, index: number | undefined): number | undefined {
  const isArray = state.jobs.get(id)?.job.spec.array !== undefined;
  return isArray || (index ?? 0) > 0 ? index : undefined;
}

/** Errors inside one of the jobs say which; doors that take one job alone leave that out again. */
function checkSubmission(
  { spec, idempotencyKey }: SubmissionInput,
  like: JobSpec | undefined,
  at: number,
): Submission {
  try {
    return { spec: toJobSpec(spec, like), idempotencyKey: checkKey(idempotencyKey) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const field = `jobs[${at}]`;
    throw new AppError(error.code, `${field}.${error.message}`, {
      field: error.field === undefined ? field : `${field}.${error.field}`,
    });
  }
}

function checkKey(key: string | undefined): string | undefined {
  if (key === undefined || key === "") return undefined;
  if (key.length > limits.idempotencyKeyLengthMax) {
    throw invalid("idempotencyKey", `at most ${limits.idempotencyKeyLengthMax} characters`);
  }
  return key;
}

function showSubmitted(
  state: State,
  id: JobId,
  { existed, spec }: { readonly existed: boolean; readonly spec: JobSpec | undefined },
): SubmittedView {
  const isPending = spec !== undefined && state.jobs.stateOf(id) === "pending";
  const warning = isPending ? warningFor(state, spec) : undefined;
  return { id: String(id), existed, ...(warning === undefined ? {} : { warning }) };
}

/** Only what waiting cannot change; the look at all nodes is done once per kind of request. */
function warningFor(state: State, spec: JobSpec): string | undefined {
  const request = state.queue.classOf(spec);
  if (request === undefined || request.candidates?.size !== 0) return undefined;
  if (state.nodes.size === 0) return "no node has joined yet; the job waits for one";
  if (!isHopeless(spec, state.nodes.values())) return undefined;
  return "no node there is now could ever run it; see busbar explain";
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
  const waits = progress.state === "pending" ? pendingReason(state, record) : undefined;
  const extra = { only, revision, ...(waits === undefined ? {} : { pendingReason: waits }) };
  return showJob(job, progress, extra);
}

/** What is known without looking at every node. */
function pendingReason(state: State, record: JobRecord): string | undefined {
  const hold = state.holds.get(record.job.id);
  if (hold !== undefined) return describeWaiting(state.jobs, state.holds, hold);
  if (state.nodes.size === 0) return "no node has joined yet";
  const request = state.queue.classOf(record.job.spec);
  return request?.candidates?.size === 0 ? "no node has room for it now" : undefined;
}

export const viewTask = (state: State, record: JobRecord, index: number): TaskView =>
  showTask(record.job, index, record.task(index), clusterIn(state));

/** Reading a folded job takes as long as looking at this many others. */
const UNFOLDING_LOOKS = 8;

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
function lowerBound(order: readonly number[], id: number): number {
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

function explain(state: State, record: JobRecord): ExplanationView {
  const { job, progress } = record;
  const base = {
    jobId: String(job.id),
    state: progress.state,
    nodes: state.nodes.size,
    dependencies: reasonsOf(state, job),
  };
  const hold = state.holds.get(job.id);
  if (hold !== undefined) {
    const summary = describeWaiting(state.jobs, state.holds, hold);
    const [first] = base.dependencies.filter(({ met }) => !met);
    const hints = first === undefined ? [] : [`see how it goes on: busbar explain ${first.jobId}`];
    return { ...base, summary: `it ${summary}`, reasons: [], hints, ahead: 0 };
  }
  const { pending, waiting } = progress.counts;
  if (pending + waiting === 0) {
    const summary = isJobEnded(progress)
      ? `the job has ended: ${progress.state}${job.closed === undefined ? "" : ` (${job.closed.reason})`}`
      : "every task is on a node";
    return { ...base, summary, reasons: [], hints: [], ahead: 0 };
  }
  const seen = outlook(job.spec, state.nodes.values());
  const group = state.groups.get(job.spec.group);
  const ahead = aheadOf(state, record);
  const atLimit =
    group?.group.runningTasksMax !== undefined && group.activeTasks >= group.group.runningTasksMax;
  const hints = hintsFor(job.spec, seen);
  if (atLimit) hints.push(`raise the limit of group ${job.spec.group}, or wait for its tasks`);
  const summary = atLimit
    ? `group ${job.spec.group} runs as many tasks as it may (${group.group.runningTasksMax})`
    : summaryOf(seen, pending + waiting, waiting);
  return { ...base, summary, reasons: seen.reasons, hints, ahead };
}

function summaryOf(seen: Outlook, queued: number, waiting: number): string {
  const tasks = queued === 1 ? "1 task waits" : `${queued} tasks wait`;
  if (seen.nodes === 0) return `${tasks}: no node has joined yet`;
  if (seen.now > 0 && waiting > 0) return `${tasks}, ${waiting} of them for their backoff to pass`;
  if (seen.now > 0)
    return `${tasks}: ${count(seen.now, "node")} could take one now, others go first`;
  if (seen.later > 0) return `${tasks}: ${count(seen.later, "node")} could take one later`;
  return `${tasks}: no node there is now could ever take one`;
}

const count = (many: number, noun: string): string => `${many} ${noun}${many === 1 ? "" : "s"}`;

/** Pending tasks of the same group that go first, looking at a bounded number of jobs. */
function aheadOf(state: State, record: JobRecord): number {
  const { group, priority } = record.job.spec;
  let ahead = 0;
  let looked = 0;
  const isFirst = (id: JobId, its: number): boolean =>
    its > priority || (its === priority && id < record.job.id);
  for (const id of state.jobOrder) {
    if (++looked > limits.listScanMax) break;
    const lane = state.jobs.foldedIn(id);
    if (lane !== undefined) {
      if (lane.group.group.id === group && isFirst(id, lane.priority)) ahead++;
      continue;
    }
    const other = state.jobs.getOpen(id);
    if (other?.job.spec.group !== group || !isFirst(id, other.job.spec.priority)) continue;
    if (state.holds.get(id) !== undefined) continue; // in no queue
    ahead += other.progress.counts.pending + other.progress.counts.waiting;
  }
  return ahead;
}
