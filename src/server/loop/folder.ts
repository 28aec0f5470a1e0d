import type { JobId } from "../../core/model/ids.ts";
import type { JobTable } from "../../core/state/jobs/job-table.ts";
import { limits } from "../../limits.ts";
import { type Clock, steadyMs } from "../../ports/clock.ts";

type StoredJob = readonly [id: JobId, text: string];

/** The durable jobs of one commit. */
interface Stored {
  /** Rows of jobs, in the order of their ids. */
  readonly jobs: Iterable<StoredJob>;
  /** Jobs that have ended. */
  readonly ended: Iterable<JobId>;
}

/**
 * Folds pending jobs and ended jobs after a short pause without commits. Most pending jobs are placed before that,
 * and would only be unfolded again; clients read ended jobs most in their first moments. Beyond a bound it folds the
 * oldest at once.
 */
export class Folder {
  readonly #jobs: JobTable;
  readonly #clock: Clock;
  readonly #waiting = new Line<StoredJob>();
  readonly #ended = new Line<JobId>();
  #cancel: (() => void) | undefined = undefined;
  /** Before this time there would be no pause since the last commit. */
  #foldAtMs = 0;

  constructor(jobs: JobTable, clock: Clock) {
    this.#jobs = jobs;
    this.#clock = clock;
  }

  /** The loop calls this for every commit, so that the folder notices a pause. */
  stored({ jobs, ended }: Stored): void {
    for (const job of jobs) this.#waiting.push(job);
    for (const id of ended) this.#ended.push(id);
    this.#foldWaiting(this.#waiting.length - limits.unfoldedJobsMax);
    this.#foldEnded(this.#ended.length - limits.unfoldedEndedJobsMax);
    this.#foldAtMs = steadyMs(this.#clock) + limits.foldAfterMs;
    if (this.#cancel === undefined) this.#arrange(limits.foldAfterMs);
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #arrange(delayMs: number): void {
    this.close();
    if (this.#waiting.length + this.#ended.length === 0) return;
    this.#cancel = this.#clock.after(delayMs, () => this.#fold());
  }

  /** Commits do not set the timer again, because there may be thousands a second: it waits for the rest when it runs out. */
  #fold(): void {
    const leftMs = this.#foldAtMs - steadyMs(this.#clock);
    if (leftMs > 0) return this.#arrange(leftMs);
    if (this.#ended.length > 0) this.#foldEnded(limits.endedFoldsPerSliceMax);
    else this.#foldWaiting(limits.foldsPerSliceMax);
    this.#arrange(0); // other work has its turn in between
  }

  #foldWaiting(count: number): void {
    for (const [id, text] of this.#waiting.take(count)) this.#jobs.fold(id, text);
  }

  #foldEnded(count: number): void {
    for (const id of this.#ended.take(count)) this.#jobs.foldEnded(id);
  }
}

/** First in, first out. */
class Line<T> {
  #items: T[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  take(count: number): readonly T[] {
    if (count <= 0) return [];
    const taken = this.#items.slice(this.#head, this.#head + count);
    this.#head += taken.length;
    if (this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return taken;
  }
}
