import type { Job } from "../../model/job/job.ts";
import type { Task, TaskState, TaskStateKind } from "../../model/job/task.ts";
import { usageOf } from "../../model/job/task.ts";
import type { Usage } from "../../model/job/usage.ts";
import { addUsage } from "../../model/job/usage.ts";

export type JobStateName =
  | "pending"
  /** All that has not ended was handed over to clusters that have told nothing of it. */
  | "accepted"
  | "running"
  | "succeeded"
  | "failed"
  | "cancelled"
  | "expired"
  | "skipped";

/** Every state a task can be seen in: those of its row, and those it has without one. */
export type TaskStateName = TaskStateKind | "pending" | "expired" | "skipped";

export const TASK_STATES: readonly TaskStateName[] = [
  "pending",
  "waiting",
  "offered",
  "accepted",
  "held",
  "assigned",
  "running",
  "stopping",
  "succeeded",
  "failed",
  "cancelled",
  "expired",
  "skipped",
];

export type TaskCounts = Readonly<Record<TaskStateName, number>>;

/** What the tasks of a job come to. Derived from its rows, replaced with every change of them. */
export interface Progress {
  readonly state: JobStateName;
  readonly counts: TaskCounts;
  readonly startedAtMs: number | undefined;
  /** When the last task that had started ended, so far. */
  readonly lastEndAtMs: number | undefined;
  /** What all attempts at all tasks used, as far as it is known. */
  readonly usage: Usage | undefined;
}

const NONE: TaskCounts = Object.freeze({
  pending: 0,
  waiting: 0,
  offered: 0,
  accepted: 0,
  held: 0,
  assigned: 0,
  running: 0,
  stopping: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
  skipped: 0,
});

export const noCounts = (): Record<TaskStateName, number> => ({ ...NONE });

// A million queued jobs of one task share one object.
const ONE_PENDING: Progress = Object.freeze({
  state: "pending",
  counts: Object.freeze({ ...NONE, pending: 1 }),
  startedAtMs: undefined,
  lastEndAtMs: undefined,
  usage: undefined,
});

export const freshProgress = (taskTotal: number): Progress =>
  taskTotal === 1 ? ONE_PENDING : { ...ONE_PENDING, counts: { ...NONE, pending: taskTotal } };

/** The state a task is seen in: its row's, unless its job was closed while it waited. */
export function taskStateName(job: Job, state: TaskState | undefined): TaskStateName {
  if (state === undefined) return job.closed?.kind ?? "pending";
  if (state.kind === "waiting") {
    return job.closed?.kind ?? (state.isFresh === true ? "pending" : "waiting");
  }
  if (state.kind === "accepted" && state.startedAtMs !== undefined) return "running";
  return state.kind;
}

export const isJobEnded = (progress: Progress): boolean =>
  progress.state !== "pending" && progress.state !== "running" && progress.state !== "accepted";

export function afterTask(
  progress: Progress,
  job: Job,
  before: Task | undefined,
  after: Task,
): Progress {
  const counts = { ...progress.counts };
  counts[taskStateName(job, before?.state)]--;
  counts[taskStateName(job, after.state)]++;
  // The first attempt is always kept, so that this is the same when rows are read back.
  const first = after.past.find((one) => one.startedAtMs !== undefined)?.startedAtMs;
  const own = "startedAtMs" in after.state ? after.state.startedAtMs : undefined;
  const startedAtMs = least(progress.startedAtMs, least(first, own));
  const lastEndAtMs =
    "endedAtMs" in after.state
      ? most(progress.lastEndAtMs, after.state.endedAtMs)
      : progress.lastEndAtMs;
  const usage = addUsage(progress.usage, newUsage(before, after));
  return { state: stateOf(counts), counts, startedAtMs, lastEndAtMs, usage };
}

/** What the attempt used that ended between two rows of a task; of its first row, all attempts. */
export function newUsage(before: Task | undefined, after: Task): Usage | undefined {
  if (before === undefined) return usageOf(after);
  if (after.past.length > 0 && after.past.at(-1)?.attempt !== before.past.at(-1)?.attempt) {
    return after.past.at(-1)?.usage;
  }
  return before.usage === undefined ? after.usage : undefined;
}

/** Closing a job ends all that is pending or waiting. */
export function afterClosing(progress: Progress, job: Job): Progress {
  if (job.closed === undefined) return progress;
  const { pending, waiting } = progress.counts;
  const counts = { ...progress.counts, pending: 0, waiting: 0 };
  counts[job.closed.kind] += pending + waiting;
  return { ...progress, state: stateOf(counts), counts };
}

/** When an ended job ended: with its last task, or when it was closed. */
export const endOf = (job: Job, progress: Progress): number =>
  most(progress.lastEndAtMs, job.closed?.atMs) ?? job.submittedAtMs;

function stateOf(counts: TaskCounts): JobStateName {
  const { succeeded, failed, cancelled, expired, skipped } = counts;
  const ended = succeeded + failed + cancelled + expired + skipped;
  const active = counts.offered + counts.held + counts.assigned + counts.running + counts.stopping;
  if (counts.pending + counts.waiting + active > 0) {
    const begun = counts.running + counts.stopping + counts.waiting + counts.accepted + ended > 0;
    return begun ? "running" : "pending";
  }
  if (counts.accepted > 0) return "accepted";
  if (failed > 0) return "failed";
  if (expired > 0) return "expired";
  if (skipped > 0) return "skipped";
  return cancelled > 0 ? "cancelled" : "succeeded";
}

const least = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
const most = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
