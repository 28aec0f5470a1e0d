import { formatTaskId } from "../../core/model/ids.ts";
import type { Job } from "../../core/model/job/job.ts";
import type { Task } from "../../core/model/job/task.ts";
import { noUsage, tallyUsage } from "../../core/model/job/usage.ts";
import { describeRefusal } from "../../core/scheduler/explain/describe.ts";
import type { Refused } from "../../core/state/decide/tasks/place-task.ts";
import { newUsage } from "../../core/model/progress.ts";
import { Histogram } from "../../lib/histogram.ts";
import { limits } from "../../limits.ts";
import type { Logger } from "../../ports/logger.ts";
import { TaskTimes, type TaskTimesSeries } from "./task-times.ts";

/** A commit writes to a disk that may be fast, busy or failing. */
const COMMIT_BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000];

/** Durations since the loop began. */
export interface LoopTimes {
  readonly commits: Histogram;
  readonly tasks: readonly TaskTimesSeries[];
}

/** Counters of a control loop since it began. */
export class LoopMetrics {
  readonly #commitTimes = new Histogram(COMMIT_BOUNDS_MS);
  readonly #taskTimes: TaskTimes;
  commits = 0;
  commitMsSum = 0;
  commitMsMax = 0;
  placements = 0;
  /** Proposals of the planner that the judge rejected. */
  placementsRefused = 0;
  tasksEnded = 0;
  heldBegun = 0;
  heldReturned = 0;
  readonly usage = noUsage();

  constructor(clusterOf: ConstructorParameters<typeof TaskTimes>[0]) {
    this.#taskTimes = new TaskTimes(clusterOf);
  }

  get times(): LoopTimes {
    return { commits: this.#commitTimes, tasks: [...this.#taskTimes.series()] };
  }

  /** Never more than the longest commit, although the buckets are coarse. */
  get commitMsP99(): number {
    return Math.min(this.#commitTimes.quantileMs(0.99), this.commitMsMax);
  }

  committed(tookMs: number): void {
    this.commits++;
    this.#commitTimes.observe(tookMs);
    this.commitMsSum += tookMs;
    this.commitMsMax = Math.max(this.commitMsMax, tookMs);
  }

  taskMoved(job: Job | undefined, before: Task | undefined, after: Task): void {
    if (job !== undefined) this.#taskTimes.moved(job, before, after);
    if ("endedAtMs" in after.state) this.tasksEnded++;
    if (before?.state.kind === "held" && after.state.kind !== "held") {
      if (after.attempt < before.attempt) this.heldReturned++;
      else this.heldBegun++;
    }
    tallyUsage(this.usage, newUsage(before, after));
  }
}

/**
 * Counts proposals of the planner that the judge rejected, and logs one a minute: a rejection
 * points to a mistake in the planner's indexes. The planner tries again by itself.
 */
export class Refusals {
  readonly #logger: Logger;
  readonly #metrics: LoopMetrics;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #unlogged = 0;

  constructor(logger: Logger, metrics: LoopMetrics) {
    this.#logger = logger;
    this.#metrics = metrics;
  }

  add({ refusal, jobId, index }: Refused, nowMs: number): void {
    this.#metrics.placementsRefused++;
    if (nowMs - this.#loggedAtMs < limits.refusalLogMs) {
      this.#unlogged++;
      return;
    }
    const task = formatTaskId(jobId, index, true);
    const reason = describeRefusal(refusal);
    this.#logger.error(
      { task, reason, others: this.#unlogged },
      "a placement failed its last check; the task is placed again",
    );
    this.#loggedAtMs = nowMs;
    this.#unlogged = 0;
  }
}
