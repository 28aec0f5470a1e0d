import type { Revision } from "../core/model/ids.ts";
import { AppError } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { Commit } from "./open-batch.ts";
import type { JobLookup, KeptCommit } from "./kept-commit.ts";
import { keepCommit, restoreCommit } from "./kept-commit.ts";

export interface Watch {
  readonly from: Revision;
  readonly commits: AsyncIterable<Commit>;
  /** For a reader that ends before it has read anything. */
  readonly close: () => void;
}

/**
 * Hands every durable commit to everyone who watches, in order and without gaps. Keeps the latest
 * commits: a watcher has a place in them and nothing of its own, so that one that does not read
 * holds no memory, and one that comes back goes on from the revision it saw last. Whoever falls
 * behind what is kept is told so.
 */
export class WatchHub {
  #history: KeptCommit[] = [];
  /** How many commits were in the history before its first: places count on. */
  #dropped = 0;
  #head = 0;
  #historyChanges = 0;
  readonly #jobOf: JobLookup;
  /** For each watcher, what wakes it. */
  readonly #watchers = new Set<{ wake: () => void }>();
  /** The revision before the oldest commit that is kept. */
  #compacted: Revision;
  #latest: Revision;
  #closed: AppError | undefined = undefined;

  /** `jobOf` gives the job as it is now, or undefined when it was removed. */
  constructor(revision: Revision, jobOf: JobLookup) {
    this.#jobOf = jobOf;
    this.#compacted = revision;
    this.#latest = revision;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  publish(commit: Commit): void {
    this.#latest = commit.revision;
    this.#history.push(keepCommit(commit));
    this.#historyChanges += commit.changes.length;
    this.#compact();
    for (const { wake } of this.#watchers) wake();
  }

  #compact(): void {
    while (this.#historyChanges > limits.watchHistoryChangesMax) {
      const oldest = this.#history[this.#head];
      if (oldest === undefined) break;
      this.#head++;
      this.#historyChanges -= oldest.changeCount;
      this.#compacted = oldest.revision;
    }
    if (this.#head > 1_024 && this.#head * 2 > this.#history.length) {
      this.#history = this.#history.slice(this.#head);
      this.#dropped += this.#head;
      this.#head = 0;
    }
  }

  /** Commits after `after` (undefined: from now on), until `signal` aborts. */
  watch(after: Revision | undefined, signal: AbortSignal): Watch {
    if (this.#closed !== undefined) throw this.#closed;
    if (this.#watchers.size >= limits.watchesMax) {
      throw new AppError("exhausted", `at most ${limits.watchesMax} watches at once`);
    }
    const from = after ?? this.#latest;
    if (from > this.#latest) {
      throw new AppError(
        "invalid_argument",
        `revision ${from} has not happened yet; the newest is ${this.#latest}`,
        { field: "afterRevision" },
      );
    }
    if (from < this.#compacted) throw this.#noLonger(from, this.#compacted);
    const watcher = { wake: (): void => undefined };
    this.#watchers.add(watcher);
    const close = (): void => void this.#watchers.delete(watcher);
    return { from, commits: this.#read(from, watcher, signal), close };
  }

  async *#read(
    from: Revision,
    watcher: { wake: () => void },
    signal: AbortSignal,
  ): AsyncGenerator<Commit> {
    const stop = (): void => watcher.wake();
    signal.addEventListener("abort", stop);
    let seen = from;
    let place = this.#placeAfter(from);
    try {
      while (!signal.aborted) {
        if (seen < this.#compacted) throw this.#noLonger(seen, this.#compacted);
        const kept = this.#history[place - this.#dropped];
        if (kept !== undefined) {
          const commit = restoreCommit(kept, this.#jobOf);
          if (commit === undefined) throw this.#noLonger(seen, kept.revision);
          place++;
          seen = kept.revision;
          yield commit;
          continue;
        }
        if (this.#closed !== undefined) throw this.#closed;
        await new Promise<void>((resolve) => {
          watcher.wake = resolve;
        });
      }
    } finally {
      signal.removeEventListener("abort", stop);
      this.#watchers.delete(watcher);
    }
  }

  /** Where the first commit after a revision is, or will be. */
  #placeAfter(from: Revision): number {
    let low = this.#head;
    let high = this.#history.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#history[middle]?.revision ?? 0) <= from) low = middle + 1;
      else high = middle;
    }
    return this.#dropped + low;
  }

  #noLonger(from: Revision, only: Revision): AppError {
    return new AppError(
      "compacted",
      `changes after revision ${from} are no longer kept (only after ${only}); ` +
        "list again and watch from the revision of that answer",
    );
  }

  close(): void {
    this.#closed = new AppError("unavailable", "the server is stopping");
    for (const { wake } of this.#watchers) wake();
  }
}
