import { limits } from "../../limits.ts";
import type { Job } from "./job/job.ts";
import { doneOf, isOwnFailure, placedOf, type Task } from "./job/task.ts";
import type { JobStateName, Progress, TaskCounts } from "./progress.ts";

/** The sums over the shares of a job, in watt-seconds. */
export interface EnergyProgress {
  /** In active or done shares: the rest is to be placed. */
  readonly placed: number;
  readonly done: number;
  /** Shares that failed by their own fault. */
  readonly failures: number;
  /** Shares that were lost with nothing done. */
  readonly losses: number;
  /** Shares that were lost and must not be placed again: docs/design/lost-nodes.md. */
  readonly lostForGood: number;
}

export const NO_ENERGY: EnergyProgress = Object.freeze({
  placed: 0,
  done: 0,
  failures: 0,
  losses: 0,
  lostForGood: 0,
});

/** The energy that is in no share. */
export const unplacedOf = ({ spec }: Job, { energy }: Progress): number =>
  (spec.energy?.wattSeconds ?? 0) - (energy?.placed ?? 0);

/** Whether too many of its shares failed: then the rest is never placed. */
export function mustGiveUp({ spec }: Job, { energy }: Progress): boolean {
  if (energy === undefined) return false;
  const { failures, losses, lostForGood } = energy;
  return failures > spec.retries.max || losses > limits.sharesLostMax || lostForGood > 0;
}

export function energyAfter(
  { placed, done, failures, losses, lostForGood }: EnergyProgress,
  before: Task | undefined,
  after: Task,
): EnergyProgress {
  const [was, is] = [before === undefined ? NO_ENERGY : energyOf(before), energyOf(after)];
  return {
    placed: placed - was.placed + is.placed,
    done: done - was.done + is.done,
    failures: failures - was.failures + is.failures,
    losses: losses - was.losses + is.losses,
    lostForGood: lostForGood - was.lostForGood + is.lostForGood,
  };
}

/** The energy of one share. */
export function energyOf(task: Task): EnergyProgress {
  const { state } = task;
  const done = doneOf(task);
  const failure = state.kind === "failed" ? state.failure : undefined;
  const isOwn = failure !== undefined && isOwnFailure(failure);
  const isLost = failure !== undefined && !isOwn && done === 0;
  return {
    placed: placedOf(task),
    done,
    failures: isOwn ? 1 : 0,
    losses: isLost ? 1 : 0,
    lostForGood: failure?.kind === "lost" && failure.isLast === true ? 1 : 0,
  };
}

/** The unplaced energy counts as one task: 1 when there is some again, -1 when all is placed. */
export function restMoved(
  job: Job,
  before: EnergyProgress = NO_ENERGY,
  after: EnergyProgress,
): number {
  const has = (energy: EnergyProgress): number =>
    (job.spec.energy?.wattSeconds ?? 0) > energy.placed ? 1 : 0;
  return has(after) - has(before);
}

/** By energy, not by the ends of shares: other shares do the undone part of a lost one. */
export function energyState(
  job: Job,
  counts: TaskCounts,
  { placed }: EnergyProgress,
): JobStateName {
  const wattSeconds = job.spec.energy?.wattSeconds ?? 0;
  const { succeeded, failed, cancelled } = counts;
  const active = counts.assigned + counts.running + counts.stopping;
  const isOpen = job.closed === undefined && (placed < wattSeconds || wattSeconds === 0);
  if (active > 0 || isOpen) {
    const ended = succeeded + failed + cancelled;
    return counts.running + counts.stopping + ended > 0 ? "running" : "pending";
  }
  if (wattSeconds > 0 && placed === wattSeconds) return "succeeded";
  return job.closed?.kind ?? "pending";
}
