import { limits } from "../../../../limits.ts";
import type { Job } from "../../../model/job/job.ts";
import { backoffMs } from "../../../model/job/job.ts";
import type {
  AcceptedState,
  ActiveState,
  TaskFailure,
  PastAttempt,
  Task,
} from "../../../model/job/task.ts";
import { ranBy } from "../../../model/job/task.ts";
import { advance, final, type ReportedProgress } from "../../../model/job/task-progress.ts";
import type { Usage } from "../../../model/job/usage.ts";
import { addUsage } from "../../../model/job/usage.ts";
import { type AfterEnd, afterServiceEnd } from "./restart.ts";

export type ActiveTask = Task & { readonly state: ActiveState };
export type AcceptedTask = Task & { readonly state: AcceptedState };

/** The first report counts. */
export const startOf = (state: ActiveState | AcceptedState): number | undefined =>
  state.kind === "assigned" ? undefined : state.startedAtMs;

/** How a node went away whose tasks are lost. */
export interface Absence {
  /** The last sign of life of its agent. */
  readonly heardAtMs: number;
  /** It went away when the server ended: no task is the cause. */
  readonly isWithServer: boolean;
}

/**
 * The attempt failed, or a service has ended. The task is tried again while attempts are left: a failure of its own counts
 * against the job's retries, a loss with its node and a return by its node against a fixed limit
 * each. A task that was being cancelled is cancelled, and a closed job is not tried again.
 */
export function failAttempt(
  job: Job,
  task: ActiveTask | AcceptedTask,
  failure: TaskFailure,
  at: {
    readonly startedAtMs: number | undefined;
    readonly endedAtMs: number;
    readonly nowMs: number;
    readonly usage?: Usage | undefined;
    /** For a lost attempt: of its node. */
    readonly absence?: Absence | undefined;
  },
): Task {
  const { state } = task;
  const ran = ranBy(state);
  const { endedAtMs, nowMs, usage } = at;
  const startedAtMs = startOf(state) ?? at.startedAtMs;
  if (isToRequeue(task) && job.closed === undefined) return requeued(task, at);
  if (state.kind === "stopping") {
    const { reason } = state;
    const cancelled = { kind: "cancelled", ...ran, startedAtMs, endedAtMs, reason } as const;
    return withUsage({ ...task, state: cancelled }, usage);
  }
  const counts = counted(task, failure);
  const next = nextOf(job, task, counts, failure, at);
  if (next.kind === "over") {
    const ended = {
      kind: "failed",
      ...ran,
      startedAtMs,
      endedAtMs,
      failure: next.failure,
    } as const;
    return withUsage({ ...task, ...counts, state: ended }, usage);
  }
  const past = { ...ran, startedAtMs, endedAtMs, failure };
  const row = withPast(task, past, usage);
  const restarts = next.restarts && { restarts: next.restarts };
  const notBeforeMs = nowMs + next.waitMs;
  return { ...row, ...counts, ...restarts, state: { kind: "waiting", notBeforeMs } };
}

/** Adds the attempt to the past ones. */
function withPast(task: Task, ended: Omit<PastAttempt, "attempt">, usage: Usage | undefined): Task {
  const { attempt, progress: _, ...rest } = task; // of the attempt that is over
  const past = withUsage<PastAttempt>({ attempt, ...ended }, usage);
  const earlierUsage = addUsage(task.earlierUsage, usage);
  return {
    ...rest,
    attempt,
    ...(earlierUsage === undefined ? {} : { earlierUsage }),
    past: keepSome([...task.past, past]),
  };
}

/** Whether the task is being stopped to be placed again. */
export const isToRequeue = ({ state }: Task): boolean =>
  state.kind === "stopping" && state.isRequeued === true;

/** The attempt was stopped, or ended in any way meanwhile: the task is placed again at once. */
export function requeued(
  task: ActiveTask | AcceptedTask,
  at: {
    readonly startedAtMs?: number | undefined;
    readonly endedAtMs: number;
    readonly nowMs: number;
    readonly usage?: Usage | undefined;
  },
): Task {
  const { state } = task;
  const message = state.kind === "stopping" ? state.reason : "requeued";
  const failure = { kind: "requeued", message } as const;
  const startedAtMs = startOf(state) ?? at.startedAtMs;
  const { endedAtMs, usage, nowMs } = at;
  const row = withPast(task, { ...ranBy(state), startedAtMs, endedAtMs, failure }, usage);
  return { ...row, state: { kind: "waiting", notBeforeMs: nowMs } };
}

/** Whether there is another attempt, and when. */
function nextOf(
  job: Job,
  task: ActiveTask | AcceptedTask,
  counts: Counts,
  failure: TaskFailure,
  at: Parameters<typeof failAttempt>[3],
): AfterEnd {
  const over = { kind: "over", failure } as const;
  const { energy, service } = job.spec;
  // The undone part of a share is split again, into other shares.
  if (energy !== undefined || job.closed !== undefined) return over;
  if (service === undefined) {
    if (!mayTryAgain(job, counts, failure)) return over;
    return { kind: "again", waitMs: waitMs(job, counts, failure), restarts: undefined };
  }
  const { state } = task;
  const sentAtMs = state.kind === "accepted" ? state.acceptedAtMs : state.assignedAtMs;
  const beganAtMs = startOf(state) ?? at.startedAtMs ?? sentAtMs;
  const { absence, endedAtMs } = at;
  const lastedMs = Math.max(0, (absence?.heardAtMs ?? endedAtMs) - beganAtMs);
  const mayBeCause = absence?.isWithServer !== true;
  const { nodeId } = ranBy(state);
  const next = afterServiceEnd(service, task, { failure, nodeId, lastedMs, mayBeCause });
  if (next.kind === "over" || failure.kind !== "node-fault") return next;
  return { ...next, waitMs: waitMs(job, counts, failure) };
}

type Counts = Pick<Task, "failures" | "losses" | "returns">;

function counted({ failures, losses, returns = 0 }: Task, failure: TaskFailure): Counts {
  switch (failure.kind) {
    case "lost":
    case "vanished":
      return { failures, losses: losses + 1 };
    case "node-fault":
      return { failures, losses, returns: returns + 1 };
    case "exited": // with 0: a service that is started again
      return { failures: failures + (failure.exitCode === 0 ? 0 : 1), losses };
    case "signalled":
    case "time-limit":
    case "out-of-memory":
    case "could-not-start":
      return { failures: failures + 1, losses };
    case "requeued":
      return { failures, losses };
  }
}

function mayTryAgain(job: Job, { failures, losses, returns = 0 }: Counts, { kind }: TaskFailure) {
  if (kind === "node-fault") return returns < limits.returnsMax;
  if (kind === "lost" || kind === "vanished") return losses < limits.lossesMax;
  return failures <= job.spec.retries.max;
}

/** A node that returned a task accepts no more for now; only a task that many nodes returned waits itself. */
function waitMs(job: Job, { failures, returns = 0 }: Counts, { kind }: TaskFailure): number {
  if (kind === "lost" || kind === "vanished") return 0;
  if (kind !== "node-fault") return backoffMs(job.spec.retries, failures);
  if (returns <= limits.returnsAtOnceMax) return 0;
  const doublings = Math.min(returns - limits.returnsAtOnceMax - 1, 20);
  return Math.min(limits.returnBackoffMsMax, limits.returnBackoffMs * 2 ** doublings);
}

/** Adds the usage, if it is known. */
export const withUsage = <Row extends { readonly usage?: Usage }>(
  row: Row,
  usage: Usage | undefined,
): Row => (usage === undefined ? row : { ...row, usage });

/** The attempt has ended, with its last reported progress. */
export function withFinal<Row extends Task>(row: Row, reported: ReportedProgress | undefined): Row {
  const known = row.progress;
  const last = reported === undefined ? known : (advance(known, reported, 0) ?? known);
  return last === undefined ? row : { ...row, progress: final(last) };
}

/** The first attempt that started, because it shows when the task began, and the latest ones. */
function keepSome(past: readonly PastAttempt[]): readonly PastAttempt[] {
  if (past.length <= limits.pastAttemptsKept) return past;
  const first = past.findIndex(({ startedAtMs }) => startedAtMs !== undefined);
  const dropped = first === 0 ? 1 : 0;
  return past.filter((_one, at) => at !== dropped);
}

/** The attempt failed for good: its cluster or node is gone, and may have run it or not. */
export function failForGood(task: ActiveTask | AcceptedTask, message: string, nowMs: number): Task {
  const { state } = task;
  const ran = ranBy(state);
  const at = { ...ran, startedAtMs: startOf(state), endedAtMs: nowMs };
  if (state.kind === "stopping" && !isToRequeue(task)) {
    return { ...task, state: { kind: "cancelled", ...at, reason: state.reason } };
  }
  const losses = task.losses + 1;
  const lost = { kind: "lost", message } as const;
  const failure = task.share === undefined ? lost : ({ ...lost, isLast: true } as const);
  return { ...task, losses, state: { kind: "failed", ...at, failure } };
}

/** The attempt is lost with its node, or its node no longer knows it. */
export const loseAttempt = (
  job: Job,
  task: ActiveTask | AcceptedTask,
  message: string,
  nowMs: number,
  absence?: Absence,
): Task =>
  failAttempt(
    job,
    task,
    { kind: "lost", message },
    { startedAtMs: undefined, endedAtMs: nowMs, nowMs, absence },
  );

export const isActiveTask = (task: Task): task is ActiveTask =>
  task.state.kind === "assigned" || task.state.kind === "running" || task.state.kind === "stopping";

export const isAcceptedTask = (task: Task): task is AcceptedTask => task.state.kind === "accepted";

/** A task that was offered to a cluster and not accepted, back in the queue. */
export function withdrawn(task: Task, nowMs: number): Task {
  const isFresh = task.past.length === 0 && task.failures === 0 && task.losses === 0;
  const waiting = { kind: "waiting", notBeforeMs: nowMs } as const;
  return { ...task, state: isFresh ? { ...waiting, isFresh } : waiting };
}
