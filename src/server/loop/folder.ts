import type { JobId } from "../../core/model/ids.ts";
import type { JobTable } from "../../core/state/jobs/job-table.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";

type StoredJob = readonly [id: JobId, text: string];

/** What one commit made durable. */
interface Stored {
  /** Rows of jobs, in the order of their ids. */
  readonly jobs: Iterable<StoredJob>;
  /** Jobs that have ended. */
  readonly ended: Iterable<JobId>;
}

/**
 * Folds jobs that still wait when nothing has been stored for a moment, and jobs that have ended:
 * most of the former are placed before that, and would only be unfolded again, and the latter are
 * looked at most in their first moments. Beyond a bound the oldest are folded at once.
 */
export class Folder {
  readonly #jobs: JobTable;
  readonly #clock: Clock;
  readonly #waiting = new Line<StoredJob>();
  readonly #ended = new Line<JobId>();
  #cancel: (() => void) | undefined = undefined;

  constructor(jobs: JobTable, clock: Clock) {
    this.#jobs = jobs;
    this.#clock = clock;
  }

  /** Called for every commit, so that it knows of a pause. */
  stored({ jobs, ended }: Stored): void {
    for (const job of jobs) this.#waiting.push(job);
    for (const id of ended) this.#ended.push(id);
    this.#foldWaiting(this.#waiting.length - limits.unfoldedJobsMax);
    this.#foldEnded(this.#ended.length - limits.unfoldedEndedJobsMax);
    this.#arrange(limits.foldAfterMs);
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #arrange(delayMs: number): void {
    this.close();
    if (this.#waiting.length + this.#ended.length === 0) return;
    this.#cancel = this.#clock.after(delayMs, () => {
      if (this.#ended.length > 0) this.#foldEnded(limits.endedFoldsPerSliceMax);
      else this.#foldWaiting(limits.foldsPerSliceMax);
      this.#arrange(0); // others have their turn in between
    });
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
