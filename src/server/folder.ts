import type { JobId } from "../core/model/ids.ts";
import type { JobTable } from "../core/state/job-table.ts";
import { limits } from "../limits.ts";
import type { Clock } from "../ports/clock.ts";

type StoredJob = readonly [id: JobId, text: string];

/**
 * Folds jobs that still wait when nothing has been stored for a moment: most jobs are placed before
 * that, and would only be unfolded again. Beyond a bound the oldest are folded at once.
 */
export class Folder {
  readonly #jobs: JobTable;
  readonly #clock: Clock;
  /** In the order of their ids, in which they must be folded. */
  #stored: StoredJob[] = [];
  #head = 0;
  #cancel: (() => void) | undefined = undefined;

  constructor(jobs: JobTable, clock: Clock) {
    this.#jobs = jobs;
    this.#clock = clock;
  }

  /** The rows of these jobs are durable. Called for every commit, so that it knows of a pause. */
  stored(jobs: Iterable<StoredJob>): void {
    for (const job of jobs) this.#stored.push(job);
    this.#fold(this.#stored.length - this.#head - limits.unfoldedJobsMax);
    this.#arrange(limits.foldAfterMs);
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #arrange(delayMs: number): void {
    this.close();
    if (this.#head === this.#stored.length) return;
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#fold(limits.foldsPerSliceMax);
      this.#arrange(0); // others have their turn in between
    });
  }

  #fold(count: number): void {
    const end = Math.min(this.#head + Math.max(0, count), this.#stored.length);
    while (this.#head < end) {
      const [id, text] = this.#stored[this.#head++] as StoredJob;
      this.#jobs.fold(id, text);
    }
    if (this.#head * 2 <= this.#stored.length) return;
    this.#stored = this.#stored.slice(this.#head);
    this.#head = 0;
  }
}
