import type { Revision } from "../core/model/ids.ts";
import { AppError } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { Commit } from "./control-loop.ts";
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
 * commits, so that a watcher that comes back can go on from the revision it saw last.
 *
 * A watcher that does not read is dropped when too much waits for it: it can resume, and memory
 * stays bounded.
 */
export class WatchHub {
  readonly #history: KeptCommit[] = [];
  readonly #jobOf: JobLookup;
  #head = 0;
  #historyChanges = 0;
  readonly #watchers = new Set<Watcher>();
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
    for (const watcher of this.#watchers) {
      watcher.push(commit);
      if (watcher.isOver) this.#watchers.delete(watcher);
    }
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
      this.#history.splice(0, this.#head);
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
    const close = (): void => void this.#watchers.delete(watcher);
    const watcher = new Watcher(close);
    for (let at = this.#head; at < this.#history.length; at++) {
      const kept = this.#history[at];
      if (kept === undefined || kept.revision <= from) continue;
      const commit = restoreCommit(kept, this.#jobOf);
      if (commit === undefined) throw this.#noLonger(from, kept.revision);
      watcher.push(commit);
      if (watcher.isOver) break;
    }
    this.#watchers.add(watcher);
    return { from, commits: watcher.read(signal), close };
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
    for (const watcher of this.#watchers) watcher.fail(this.#closed);
    this.#watchers.clear();
  }
}

/** The commits one watcher has not read yet. */
class Watcher {
  #queue: Commit[] = [];
  #queuedChanges = 0;
  #wake: (() => void) | undefined = undefined;
  #over: AppError | undefined = undefined;
  readonly #leave: () => void;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  push(commit: Commit): void {
    this.#queue.push(commit);
    this.#queuedChanges += Math.max(commit.changes.length, commit.jobs.size);
    if (this.#queuedChanges > limits.watchQueueEventsMax && this.#queue.length > 1) {
      const last = this.#queue[0]?.revision ?? 1;
      this.#queue = [];
      this.fail(
        new AppError(
          "exhausted",
          `this watch did not read fast enough; go on after revision ${last - 1}`,
        ),
      );
    }
    this.#wake?.();
  }

  fail(error: AppError): void {
    this.#over = error;
    this.#wake?.();
  }

  async *read(signal: AbortSignal): AsyncGenerator<Commit> {
    const stop = (): void => this.#wake?.();
    signal.addEventListener("abort", stop);
    try {
      while (!signal.aborted) {
        const batch = this.#queue;
        this.#queue = [];
        this.#queuedChanges = 0;
        yield* batch;
        if (this.#queue.length > 0 || signal.aborted) continue;
        if (this.#over !== undefined) throw this.#over;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    } finally {
      signal.removeEventListener("abort", stop);
      this.#leave();
    }
  }
}
