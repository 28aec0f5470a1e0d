import type { GroupId, JobId, NodeId, Revision } from "../../core/model/ids.ts";
import type { Job } from "../../core/model/job/job.ts";
import type { Resources } from "../../core/model/resources.ts";
import type { Task } from "../../core/model/job/task.ts";
import type { Change } from "../../core/state/change.ts";
import { TABLES } from "../../core/state/tables/tables.ts";
import type { Pace } from "../../core/scheduler/nodes/task-pace.ts";
import type { Progress } from "../../core/state/jobs/progress.ts";
import type { State } from "../../core/state/state.ts";
import { AppError } from "../../lib/errors.ts";
import type { RowWrite } from "../../ports/store.ts";

/** All that happened in one revision. Handed out only when it is durable. */
export interface Commit {
  readonly revision: Revision;
  readonly changes: readonly Change[];
  /** How each job stood at the end of this revision, for those it touched. */
  readonly jobs: ReadonlyMap<JobId, JobSnapshot>;
  /** What each node held, for those whose row changed. */
  readonly loads: ReadonlyMap<NodeId, NodeLoad>;
  /** The group of each job that this revision removed. */
  readonly removedFrom: ReadonlyMap<JobId, GroupId>;
}

/** Rows are never changed, so that holding them is a snapshot. */
export interface JobSnapshot {
  readonly job: Job;
  readonly progress: Progress;
  /** The task of a job without array, once it has a row. */
  readonly only: Task | undefined;
}

export interface NodeLoad {
  readonly used: Resources;
  readonly tasks: number;
  /** Fetched ahead. */
  readonly held: number;
  /** Where it is asked for: how long tasks took there. */
  readonly pace?: Pace;
}

/** Changes decided and applied, on their way to the store. */
export interface OpenBatch {
  readonly revision: Revision;
  readonly changes: Change[];
  /** Whether it changes what clusters that pull have. */
  hasGraphs: boolean;
  readonly jobs: Map<JobId, JobSnapshot>;
  readonly loads: Map<NodeId, NodeLoad>;
  readonly removedFrom: Map<JobId, GroupId>;
  /** Rows of jobs as they are stored. */
  readonly jobTexts: Map<JobId, string>;
  /** Called when the batch is durable, or with the error that stops the loop. */
  readonly done: ((error?: AppError) => void)[];
}

/** What clusters that pull have is in these. */
export const GRAPH_TABLES: ReadonlySet<Change["table"]> = new Set([
  "cluster",
  "graph",
  "subsystem",
]);

export const openBatch = (revision: Revision): OpenBatch => ({
  revision,
  changes: [],
  hasGraphs: false,
  jobs: new Map(),
  loads: new Map(),
  removedFrom: new Map(),
  jobTexts: new Map(),
  done: [],
});

/**
 * Looks now, and answers when the batch is durable. A refusal waits, too: what was not found may have
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

/** A job is about to be removed. */
export function noteRemoval({ removedFrom }: OpenBatch, { jobs }: State, id: JobId): void {
  const record = jobs.get(id);
  if (record !== undefined) removedFrom.set(id, record.job.spec.group);
}

export function noteLoad({ loads }: OpenBatch, { nodes }: State, id: NodeId): void {
  const record = nodes.get(id);
  if (record === undefined) return;
  const { used, tasks, held } = record;
  loads.set(id, { used: { ...used }, tasks: tasks.size, held: held.size });
}

/** How the job stands now. Returns its row. */
export function noteJob(batch: OpenBatch, { jobs }: State, id: JobId): Job | undefined {
  const record = jobs.get(id);
  if (record === undefined) return undefined;
  const { job, progress } = record;
  const only = job.spec.array === undefined ? record.task(0) : undefined;
  batch.jobs.set(id, { job, progress, only });
  return job;
}

const isJobRow = (change: Change): change is Change & { table: "job"; row: Job } =>
  change.table === "job" && "row" in change;

/** A batch must name each key once: what a later change of the batch replaced is left out. */
export function toWrites(state: State, { changes, jobTexts }: OpenBatch): RowWrite[] {
  const writes: RowWrite[] = [];
  const removed = new Set<string>(); // a node may come and go twice
  for (const change of changes) {
    if (!state.isNewest(change)) continue;
    TABLES.encode(change, (key, value) => {
      if (value === undefined) {
        if (removed.has(key)) return;
        removed.add(key);
      }
      writes.push({ key, value });
      if (value === undefined || !isJobRow(change)) return;
      jobTexts.set(change.row.id, value);
      state.jobs.stored(change.row.id, value);
    });
  }
  return writes;
}
