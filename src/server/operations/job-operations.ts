import { hasIndex, indexAt } from "../../core/model/job/array-range.ts";
import { hasIndexes } from "../../core/model/job/job.ts";
import type { Task } from "../../core/model/job/task.ts";
import { formatTaskId, groupId, nodeId, parseTaskId } from "../../core/model/ids.ts";
import { readJobOrder, TIME_RULE } from "../../core/state/jobs/job-order.ts";
import type { JobRecord } from "../../core/state/jobs/job-record.ts";
import type { State } from "../../core/state/state.ts";
import { AppError } from "../../lib/errors.ts";
import { checkRule } from "../../lib/rules/check-rule.ts";
import type { OperationContext } from "./create-operations.ts";
import type { HasClient } from "../attach/explain-attached.ts";
import { explainJob, queuedFor } from "../views/explain/explain-job.ts";
import { matchInSlices } from "../loop/match-in-slices.ts";
import { JobList } from "../views/list-jobs.ts";
import { TaskList } from "../views/list-tasks.ts";
import { pendingReason } from "../views/pending-reason.ts";
import { PAGES, pageSizeOf } from "../views/paging.ts";
import type { CallerOperations } from "./operations.ts";
import type { QueueReasons } from "../views/queue-reasons.ts";
import { showJob, showTask } from "../views/show.ts";
import type { JobView, TaskView } from "../views/views.ts";
import { type JobBrief, showBrief } from "../watch/job-brief.ts";

type JobOperations = Pick<
  CallerOperations,
  | "getJob"
  | "listJobs"
  | "listJobBriefs"
  | "countJobs"
  | "listTasks"
  | "getTask"
  | "assignShare"
  | "explainJob"
>;

export function createJobOperations(context: OperationContext): JobOperations {
  const { loop, clock, policy, sessions } = context;
  const { queueReasons } = sessions;
  const hasClient: HasClient = (nodeId, { id: jobId }) =>
    sessions.isConnected(nodeId) &&
    sessions.sessionOf(nodeId).attachments.hasClient({ jobId, index: 0 });
  return {
    getJob: (_caller, id) =>
      loop.read((state) => {
        const record = requireJob(state, id);
        return withEntries(viewJob(state, record, queueReasons), record);
      }),

    async listJobs(_caller, filter, page) {
      const below = PAGES.jobs.numberOf(page);
      for (const name of ["submittedFromMs", "submittedBeforeMs"] as const) {
        if (filter[name] !== undefined) checkRule(filter[name], name, TIME_RULE);
      }
      const order = readJobOrder(page.sort);
      const list = new JobList<JobView>({ filter, size: pageSizeOf(page), below, order });
      const revision = await loop.readSlices((state) =>
        list.slice(state, (record) => viewJob(state, record, queueReasons)),
      );
      const { found: jobs, next } = list;
      return {
        jobs,
        ...(next === undefined ? {} : { nextPageToken: PAGES.jobs.tokenOf(next) }),
        revision,
      };
    },

    async listJobBriefs(_caller, filter, page) {
      const below = PAGES.jobs.numberOf(page);
      const list = new JobList<JobBrief>({ filter, size: pageSizeOf(page), below });
      await loop.readSlices((state) => list.slice(state, briefOf));
      const { found: jobs, next } = list;
      return { jobs, ...(next === undefined ? {} : { nextPageToken: PAGES.jobs.tokenOf(next) }) };
    },

    countJobs: (_caller, group) =>
      loop.read((state, revision) => {
        const tally = group === undefined ? state.totals : state.groups.get(groupId(group));
        if (tally === undefined) throw new AppError("not_found", `there is no group ${group}`);
        return { jobs: { ...tally.jobs }, tasks: { ...tally.tasks }, revision };
      }),

    async listTasks(_caller, id, states, page) {
      const from = PAGES.tasks.numberOf(page) ?? 0;
      const list = new TaskList<TaskView>({ states, size: pageSizeOf(page), from });
      const revision = await loop.readSlices((state) => {
        const record = requireJob(state, id);
        return list.slice(record, (index) => viewTask(state, record, index, queueReasons));
      });
      const { found: tasks, next } = list;
      return {
        tasks,
        ...(next === undefined ? {} : { nextPageToken: PAGES.tasks.tokenOf(next) }),
        revision,
      };
    },

    getTask: (_caller, id) =>
      loop.read((state) => {
        const { record, index } = requireTask(state, id);
        return viewTask(state, record, index, queueReasons);
      }),

    async assignShare(_caller, { jobId: job, node, wattSeconds }) {
      if (policy.isEnergyExternal !== true) {
        const hint = "start it with --nexus-external-scheduler for one of your own";
        throw new AppError(
          "permission_denied",
          `the server's own scheduler assigns shares; ${hint}`,
        );
      }
      const { jobId } = parseTaskId(job, "jobId");
      const nowMs = clock.nowMs();
      const made = await loop.submit({
        kind: "assign-share",
        jobId,
        nodeId: nodeId(node),
        wattSeconds,
        nowMs,
      });
      return { taskId: formatTaskId(jobId, made.index, true), wattSeconds: made.wattSeconds };
    },

    async explainJob(_caller, id) {
      const queued = loop.peek((state) => queuedFor(state, requireJob(state, id)));
      if (queued !== undefined) await matchInSlices(loop, [queued.job.spec]);
      const about = { queueReasons, hasClient, nowMs: clock.nowMs() };
      return loop.read((state) => explainJob(state, requireJob(state, id), policy, about));
    },
  };
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
  if (!hasIndexes(record.job.spec)) return { record, index: 0 };
  const first = indexAt(record.ranges, 0);
  if (first === undefined) throw new AppError("not_found", `job ${id} has no tasks`);
  const what = record.job.spec.energy === undefined ? "is an array" : "is split into shares";
  const problem = `job ${id} ${what}; name one of its tasks, like ${id}.${first}`;
  throw new AppError("not_found", problem, { field: "id" });
}

/** A job may have many entries: only the view of one job shows them. */
function withEntries(view: JobView, { job }: JobRecord): JobView {
  const { entries } = job.spec;
  return entries === undefined ? view : { ...view, spec: { ...view.spec, entries } };
}

const onlyTaskOf = (record: JobRecord): Task | undefined =>
  hasIndexes(record.job.spec) ? undefined : record.task(0);

const briefOf = (record: JobRecord): JobBrief =>
  showBrief(record.job, record.progress, onlyTaskOf(record));

const clusterIn =
  (state: State) =>
  (node: string): string | undefined =>
    state.nodes.get(node as never)?.node.cluster;

export function viewJob(state: State, record: JobRecord, queueReasons?: QueueReasons): JobView {
  const { job, progress, revision } = record;
  const only = onlyTaskOf(record);
  const hasNotBegun = progress.state === "pending" || progress.state === "accepted";
  const pending = hasNotBegun ? pendingReason(state, record) : undefined;
  const waits = pending ?? queueReasons?.describe(record);
  const extra = { only, revision, ...(waits === undefined ? {} : { pendingReason: waits }) };
  return showJob(job, progress, extra);
}

export function viewTask(
  state: State,
  record: JobRecord,
  index: number,
  queueReasons?: QueueReasons,
): TaskView {
  const task = record.task(index);
  const shown = { row: task, revision: record.taskRevision(index) };
  const view = showTask(record.job, index, shown, clusterIn(state));
  const reason = queueReasons?.of(task);
  return reason === undefined ? view : { ...view, reason: `waits in ${reason}` };
}
