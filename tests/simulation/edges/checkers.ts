import { doneOf, isActive, type Task } from "../../../src/core/model/job/task.ts";
import { allJobs } from "../../../src/core/state/checks/all-jobs.ts";
import type { JobRecord } from "../../../src/core/state/jobs/job-record.ts";
import { isJobEnded } from "../../../src/core/model/progress.ts";
import type { State } from "../../../src/core/state/state.ts";
import { firstDifference } from "../first-difference.ts";
import { checkState, digest } from "../../../src/testing/check/check-state.ts";

export type EdgeChecker =
  | "shares-add-up"
  | "one-share-an-edge"
  | "no-energy-twice"
  | "done-was-used"
  | "within-bounds"
  | "times-are-right"
  | "every-job-ends"
  | "indexes-agree-with-rows"
  | "memory-equals-disk"
  | "core-stays-sound";

export class Broken extends Error {
  readonly checker: EdgeChecker;

  constructor(checker: EdgeChecker, message: string) {
    super(message);
    this.checker = checker;
  }
}

function demand(checker: EdgeChecker, holds: boolean, message: () => string): void {
  if (!holds) throw new Broken(checker, message());
}

/** Data of the edges that the rows do not have: the real usage of each run. */
export interface Witness {
  usedBy(task: Task): number;
  /** The numbers of shares that it has ever reported to accept at once. */
  mayTake(node: string): number;
}

/** Recomputed from rows and from the edges' work: independent of the core's own data. */
export function checkEdges(state: State, witness: Witness): void {
  const working = new Map<string, string[]>();
  for (const record of allJobs(state)) {
    checkJob(record, witness);
    for (const task of record.taskRows()) {
      if (!isActive(task.state)) continue;
      const { nodeId } = task.state;
      const id = `${task.jobId}.${task.index}`;
      const all = [...(working.get(nodeId) ?? []), id];
      const mayHave = all.length <= witness.mayTake(nodeId);
      demand("one-share-an-edge", mayHave, () => `${nodeId} has ${all.join(" and ")}`);
      working.set(nodeId, all);
    }
  }
}

function checkJob(record: JobRecord, witness: Witness): void {
  const { job, progress } = record;
  const { energy } = job.spec;
  if (energy === undefined) return;
  const { wattSeconds, greatestShare } = energy;
  let [held, done] = [0, 0];
  for (const task of record.taskRows()) {
    const { share = 0, state } = task;
    const own = ownDone(task);
    const isOver = !isActive(state);
    held += isOver ? own : share;
    done += own;
    const id = `share ${job.id}.${task.index} of ${share}`;
    const counts = doneOf(task);
    demand("done-was-used", counts <= witness.usedBy(task), () => `${id}: ${counts} done`);
    demand("within-bounds", share > 0 && share <= greatestShare, () => `${id} is no share`);
    if ("endedAtMs" in state && state.startedAtMs !== undefined) {
      const isRight = state.startedAtMs <= state.endedAtMs;
      demand("times-are-right", isRight, () => `${id} ended before it started`);
    }
  }
  demand("no-energy-twice", held <= wattSeconds, () => `job ${job.id} has ${held} in shares`);
  if (!isJobEnded(progress)) return;
  const isAll = progress.state !== "succeeded" || done === wattSeconds;
  demand("shares-add-up", isAll, () => `job ${job.id} of ${wattSeconds} ended with ${done}`);
  const isDone = progress.state === "succeeded" || done < wattSeconds;
  demand("shares-add-up", isDone, () => `job ${job.id} is ${progress.state}, all is done`);
}

/** By its own rule, independent of the core's. */
function ownDone(task: Task): number {
  const { share = 0, state, progress } = task;
  if (state.kind === "succeeded") return share;
  if (state.kind === "failed" && state.failure.kind === "exited") return 0;
  return Math.floor((share * Math.round((progress?.percent ?? 0) * 100)) / 10_000);
}

export function checkIndexes(state: State): void {
  const wrong = checkState(state);
  demand("indexes-agree-with-rows", wrong.length === 0, () => wrong.slice(0, 3).join("; "));
}

export function checkReadBack(state: State, read: State): void {
  const difference = firstDifference(digest(state), digest(read), "state");
  demand("memory-equals-disk", difference === undefined, () => difference ?? "");
}

export function checkEnded(state: State): void {
  for (const { job, progress } of allJobs(state)) {
    const isOver = isJobEnded(progress);
    demand("every-job-ends", isOver, () => `job ${job.id} is ${progress.state} in the end`);
  }
}
