import type { ClusterStatus } from "../../core/model/cluster.ts";
import type { ClusterId, GroupId, JobId, NodeId, Revision } from "../../core/model/ids.ts";
import { hasIndexes, type Job } from "../../core/model/job/job.ts";
import type { Resources } from "../../core/model/resources.ts";
import type { Task } from "../../core/model/job/task.ts";
import type { Change } from "../../core/state/change.ts";
import { TABLES } from "../../core/state/tables/tables.ts";
import type { RunTimes } from "../../core/scheduler/nodes/run-times.ts";
import type { Progress } from "../../core/model/progress.ts";
import type { State } from "../../core/state/state.ts";
import { AppError } from "../../lib/errors.ts";
import type { RowWrite } from "../../ports/store.ts";

/** Changes that become durable together. Others see them only when they are durable. */
export interface Commit {
  /** Revision of the last change before the commit. */
  readonly before: Revision;
  /** Revision of its last change. */
  readonly revision: Revision;
  readonly changes: readonly Change[];
  /** Revision of each change. */
  readonly revisions: readonly Revision[];
  /** The status, at the end of the commit, of each job that it touched. */
  readonly jobs: ReadonlyMap<JobId, JobSnapshot>;
  /** The load of each node whose row changed. */
  readonly loads: ReadonlyMap<NodeId, NodeLoad>;
  /** The reported state of each cluster whose row changed. */
  readonly statuses: ReadonlyMap<ClusterId, ClusterStatus>;
  /** The group of each job that it removed. */
  readonly removedFrom: ReadonlyMap<JobId, GroupId>;
  /** Whether it replaced or removed a row that it had written itself, of a table that clients can watch. */
  readonly hasReplaced: boolean;
}

/** Rows are never changed, so that holding them is a snapshot. */
export interface JobSnapshot {
  readonly job: Job;
  readonly progress: Progress;
  /** The task of a job without array, once it has a row. */
  readonly only: Task | undefined;
  readonly revision: Revision;
}

export interface NodeLoad {
  readonly used: Resources;
  readonly tasks: number;
  /** Fetched ahead. */
  readonly held: number;
  /** How long tasks took there, if the caller asks for it. */
  readonly runTimes?: RunTimes;
}

/** Changes decided and applied, on their way to the store. */
export interface OpenBatch {
  readonly before: Revision;
  revision: Revision;
  readonly changes: Change[];
  readonly revisions: Revision[];
  /** Whether it changes pull clusters. */
  hasGraphs: boolean;
  readonly jobs: Map<JobId, JobSnapshot>;
  readonly loads: Map<NodeId, NodeLoad>;
  readonly statuses: Map<ClusterId, ClusterStatus>;
  readonly removedFrom: Map<JobId, GroupId>;
  /** Known when its rows are encoded. */
  hasReplaced: boolean;
  /** Rows of jobs as they are stored. */
  readonly jobTexts: Map<JobId, string>;
  /** Callbacks for when the batch is durable, or for the error that stops the loop. */
  readonly done: ((error?: AppError) => void)[];
}

/** Tables with the contents of pull clusters; the table of clusters says which ones exist. */
const GRAPH_TABLES: ReadonlySet<Change["table"]> = new Set(["graph", "subsystem"]);

/** A batch that continues after a revision. */
export const openBatch = (before: Revision): OpenBatch => ({
  before,
  revision: before,
  changes: [],
  revisions: [],
  hasGraphs: false,
  jobs: new Map(),
  loads: new Map(),
  statuses: new Map(),
  removedFrom: new Map(),
  hasReplaced: false,
  jobTexts: new Map(),
  done: [],
});

/**
 * Reads now, and answers when the batch is durable. An error waits, too: a row that was not found may have
 * been removed by this very batch.
 */
export function whenDurable<T>(batch: OpenBatch | undefined, look: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    let settle: () => void;
    try {
      const seen = look();
      settle = () => resolve(seen);
    } catch (cause) {
      const refusal = AppError.from(cause, "read");
      settle = () => reject(refusal);
    }
    if (batch === undefined) settle();
    else batch.done.push((error) => (error === undefined ? settle() : reject(error)));
  });
}

/** Applies a change to the state at once, and records the data that its watchers will receive. */
export function applyTo(batch: OpenBatch, state: State, change: Change): void {
  if (change.table === "job" && "removed" in change) noteRemoval(batch, state, change.removed);
  const { version } = state.clusters;
  state.apply(change);
  batch.changes.push(change);
  batch.revisions.push(state.writing);
  batch.revision = state.revision;
  if (GRAPH_TABLES.has(change.table) || version !== state.clusters.version) batch.hasGraphs = true;
  if (!("row" in change)) return;
  if (change.table === "job") noteJob(batch, state, change.row.id);
  else if (change.table === "node") noteLoad(batch, state, change.row.id);
  else if (change.table === "cluster") noteStatus(batch, state, change.row.id);
}

/** A job is about to be removed. */
function noteRemoval({ removedFrom }: OpenBatch, { jobs }: State, id: JobId): void {
  const record = jobs.get(id);
  if (record !== undefined) removedFrom.set(id, record.job.spec.group);
}

function noteLoad({ loads }: OpenBatch, { nodes }: State, id: NodeId): void {
  const record = nodes.get(id);
  if (record === undefined) return;
  const { used, tasks, held } = record;
  loads.set(id, { used: { ...used }, tasks: tasks.size, held: held.size });
}

function noteStatus({ statuses }: OpenBatch, { clusters }: State, id: ClusterId): void {
  statuses.set(id, clusters.statusOf(id));
}

/** Records the current status of the job. Returns its row. */
export function noteJob(batch: OpenBatch, { jobs }: State, id: JobId): Job | undefined {
  const record = jobs.get(id);
  if (record === undefined) return undefined;
  const { job, progress, revision } = record;
  const only = hasIndexes(job.spec) ? undefined : record.task(0);
  batch.jobs.set(id, { job, progress, only, revision });
  return job;
}

const isJobRow = (change: Change): change is Change & { table: "job"; row: Job } =>
  change.table === "job" && "row" in change;

/** A batch must name each key once: leaves out rows that a later change of the batch replaced. */
export function toWrites(state: State, batch: OpenBatch): RowWrite[] {
  const { changes, revisions, jobTexts } = batch;
  const writes: RowWrite[] = [];
  const removed = new Set<string>(); // a batch may add and remove a node twice
  for (let at = 0; at < changes.length; at++) {
    const change = changes[at] as Change;
    if (!state.isNewest(change)) {
      if (TABLES.of(change).isWatched) batch.hasReplaced = true;
      continue;
    }
    const revision = revisions[at];
    TABLES.encode(change, (key, value) => {
      if (value === undefined) {
        if (removed.has(key)) return;
        removed.add(key);
      }
      writes.push({ key, value, revision });
      if (value === undefined || !isJobRow(change)) return;
      jobTexts.set(change.row.id, value);
      state.jobs.stored(change.row.id, value);
    });
  }
  return writes;
}
