import type { Job, JobSpec } from "./job/job.ts";
import { taskTotalOf } from "./job/job.ts";
import type { Task, TaskState, TaskStateKind } from "./job/task.ts";
import { noKinds, usageOf } from "./job/task.ts";
import { hundredths } from "./job/task-progress.ts";
import type { Usage } from "./job/usage.ts";
import { addUsage } from "./job/usage.ts";
import {
  energyAfter,
  type EnergyProgress,
  energyState,
  NO_ENERGY,
  restMoved,
} from "./energy-progress.ts";

export type JobStateName =
  | "pending"
  /** All tasks that have not ended were accepted by clusters that have not reported them. */
  | "accepted"
  | "running"
  | "succeeded"
  | "failed"
  | "cancelled"
  | "expired"
  | "skipped";

/** Every visible state of a task: those of its row, and those of a task without one. */
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

/** The tallies of a job's tasks. Derived from its rows, replaced with every change of them. */
export interface Progress {
  readonly state: JobStateName;
  readonly counts: TaskCounts;
  readonly startedAtMs: number | undefined;
  /** The latest end of a task that had started, so far. */
  readonly lastEndAtMs: number | undefined;
  /** The usage of all attempts of all tasks, as far as it is known. */
  readonly usage: Usage | undefined;
  /** Tasks whose latest attempt has reported progress. */
  readonly tasksWithProgress: number;
  /** The progress of all tasks, in hundredths of a percent of one. */
  readonly done: number;
  /** For a job with energy. */
  readonly energy?: EnergyProgress;
}

/** The progress of the job: the mean over its tasks; a succeeded task counts as 100. */
export const percentOf = ({ done }: Progress, taskTotal: number): number =>
  Math.floor(done / taskTotal) / 100;

const ALL_DONE = hundredths(100);

const doneBy = (task: Task | undefined): number =>
  task?.state.kind === "succeeded" ? ALL_DONE : hundredths(task?.progress?.percent ?? 0);

const NONE: TaskCounts = Object.freeze({ pending: 0, ...noKinds(), expired: 0, skipped: 0 });

export const noCounts = (): Record<TaskStateName, number> => ({ ...NONE });

/** Of jobs with one task: they share the counts of its states. */
const ONE = Object.fromEntries(
  TASK_STATES.map((name) => [name, Object.freeze({ ...NONE, [name]: 1 })]),
) as Readonly<Record<TaskStateName, TaskCounts>>;

// A million queued jobs of one task share one object.
const ONE_PENDING: Progress = Object.freeze({
  state: "pending",
  counts: ONE.pending,
  startedAtMs: undefined,
  lastEndAtMs: undefined,
  usage: undefined,
  tasksWithProgress: 0,
  done: 0,
});

const ENERGY_PENDING: Progress = Object.freeze({ ...ONE_PENDING, energy: NO_ENERGY });
/** A job without energy has nothing to place: it ends as soon as nothing holds it. */
const NOTHING_PENDING: Progress = Object.freeze({ ...ENERGY_PENDING, counts: NONE });

export function freshProgress(spec: JobSpec): Progress {
  if (spec.energy !== undefined) {
    return spec.energy.wattSeconds === 0 ? NOTHING_PENDING : ENERGY_PENDING;
  }
  const total = taskTotalOf(spec);
  return total === 1 ? ONE_PENDING : { ...ONE_PENDING, counts: { ...NONE, pending: total } };
}

/** The number of its tasks so far; its unplaced energy counts as one. */
export function taskTotalIn(spec: JobSpec, { counts }: Progress): number {
  if (spec.energy === undefined) return taskTotalOf(spec);
  let total = 0;
  for (const name of TASK_STATES) total += counts[name];
  return total;
}

/** The visible state of a task: its row's, unless its job was closed while it was waiting. */
export function taskStateName(job: Job, state: TaskState | undefined): TaskStateName {
  if (state === undefined) return job.closed?.kind ?? "pending";
  if (state.kind === "waiting") {
    return job.closed?.kind ?? (state.isFresh === true ? "pending" : "waiting");
  }
  if (state.kind === "accepted" && state.startedAtMs !== undefined) return "running";
  return state.kind;
}

/** The number of active tasks of an array. */
export const activeTasksOf = ({ counts }: Progress): number =>
  counts.offered +
  counts.accepted +
  counts.held +
  counts.assigned +
  counts.running +
  counts.stopping;

/** Whether the array has as many active tasks as it may have at once. */
export const isAtTaskLimit = ({ spec }: Job, progress: Progress): boolean =>
  spec.tasksAtOnce !== undefined && activeTasksOf(progress) >= spec.tasksAtOnce;

export const isJobEnded = (progress: Progress): boolean =>
  progress.state !== "pending" && progress.state !== "running" && progress.state !== "accepted";

export function afterTask(
  progress: Progress,
  job: Job,
  before: Task | undefined,
  after: Task,
): Progress {
  const energy = progress.energy && energyAfter(progress.energy, before, after);
  const counts = countsAfter(progress, energy, job, { before, after });
  // The first attempt is always kept, so that this is the same when rows are read back.
  const first = after.past.find((one) => one.startedAtMs !== undefined)?.startedAtMs;
  const own = "startedAtMs" in after.state ? after.state.startedAtMs : undefined;
  const startedAtMs = least(progress.startedAtMs, least(first, own));
  const lastEndAtMs =
    "endedAtMs" in after.state
      ? most(progress.lastEndAtMs, after.state.endedAtMs)
      : progress.lastEndAtMs;
  const usage = addUsage(progress.usage, newUsage(before, after));
  const isNew = Number(after.progress !== undefined) - Number(before?.progress !== undefined);
  const tasksWithProgress = progress.tasksWithProgress + isNew;
  const done = progress.done + doneBy(after) - doneBy(before);
  const state = energy === undefined ? stateOf(counts) : energyState(job, counts, energy);
  const next = { state, counts, startedAtMs, lastEndAtMs, usage, tasksWithProgress, done };
  return energy === undefined ? next : { ...next, energy };
}

function countsAfter(
  progress: Progress,
  energy: EnergyProgress | undefined,
  job: Job,
  { before, after }: { readonly before: Task | undefined; readonly after: Task },
): TaskCounts {
  const name = taskStateName(job, after.state);
  if (energy === undefined && job.spec.array === undefined) return ONE[name];
  const counts = { ...progress.counts };
  if (energy === undefined || before !== undefined) counts[taskStateName(job, before?.state)]--;
  counts[name]++;
  if (energy !== undefined)
    counts[taskStateName(job, undefined)] += restMoved(job, progress.energy, energy);
  return counts;
}

/** The usage of the attempt that ended between two rows of a task; for its first row, of all attempts. */
export function newUsage(before: Task | undefined, after: Task): Usage | undefined {
  if (before === undefined) return usageOf(after);
  if (after.past.length > 0 && after.past.at(-1)?.attempt !== before.past.at(-1)?.attempt) {
    return after.past.at(-1)?.usage;
  }
  return before.usage === undefined ? after.usage : undefined;
}

/** Closing a job ends all its pending and waiting tasks. */
export function afterClosing(progress: Progress, job: Job): Progress {
  if (job.closed === undefined) return progress;
  const { pending, waiting } = progress.counts;
  const counts = { ...progress.counts, pending: 0, waiting: 0 };
  counts[job.closed.kind] += pending + waiting;
  const { energy } = progress;
  const state = energy === undefined ? stateOf(counts) : energyState(job, counts, energy);
  // A job without energy starts and ends at the same time.
  const isNothing = job.closed.kind === "succeeded";
  const startedAtMs = isNothing ? job.closed.atMs : progress.startedAtMs;
  return { ...progress, state, counts, startedAtMs };
}

/** The end of an ended job: with its last task, or when it was closed. */
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
