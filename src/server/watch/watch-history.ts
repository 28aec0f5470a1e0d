import type { Revision } from "../../core/model/ids.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { keepCommit, type KeptCommit } from "./kept-commit.ts";
import type { Commit } from "../loop/open-batch.ts";

/**
 * The latest commits, bounded in changes and in bytes by `drop`. Each commit has a place: places are consecutive numbers and stay when
 * older commits are dropped, so that a watch only needs a number.
 */
export class WatchHistory {
  #commits: KeptCommit[] = [];
  /** The place of the first commit in the array. */
  #dropped = 0;
  #head = 0;
  #changes = 0;
  #bytes = 0;
  /** The last revision before the oldest commit. */
  #compacted: Revision;
  #latest: Revision;

  constructor(revision: Revision) {
    this.#compacted = revision;
    this.#latest = revision;
  }

  get latest(): Revision {
    return this.#latest;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The number of commits in memory, including those about to be dropped. */
  get held(): number {
    return this.#commits.length;
  }

  /** The place of the next commit. */
  get end(): number {
    return this.#dropped + this.#commits.length;
  }

  push(commit: Commit): KeptCommit {
    const kept = keepCommit(commit);
    this.#latest = kept.revision;
    this.#commits.push(kept);
    this.#changes += kept.changeCount;
    this.#bytes += kept.bytes;
    return kept;
  }

  /** Drops the oldest commits. `unread` returns the first place that a watch has not read: from there on more are retained. */
  drop(unread: () => number): void {
    const { watchHistoryChangesMax, watchHistoryBytesKept, watchHistoryBytesMax } = limits;
    const isFull = (bytesMax: number): boolean =>
      this.#changes > watchHistoryChangesMax || this.#bytes > bytesMax;
    let unreadFrom: number | undefined;
    while (isFull(watchHistoryBytesKept)) {
      const oldest = this.#commits[this.#head];
      if (oldest === undefined) break;
      unreadFrom ??= unread();
      const isRead = this.#dropped + this.#head < unreadFrom;
      if (!isRead && !isFull(watchHistoryBytesMax)) break;
      this.#head++;
      this.#changes -= oldest.changeCount;
      this.#bytes -= oldest.bytes;
      this.#compacted = oldest.revision;
    }
    // A commit may hold 20,000 changes: dropped commits must not outnumber the retained ones.
    if (this.#head * 2 > this.#commits.length) {
      this.#commits = this.#commits.slice(this.#head);
      this.#dropped += this.#head;
      this.#head = 0;
    }
  }

  /** undefined: it has not happened yet. Throws `compacted`. */
  at(place: number, seen: Revision): KeptCommit | undefined {
    if (place < this.#dropped + this.#head) throw this.#noLonger(seen);
    return this.#commits[place - this.#dropped];
  }

  /** The revision, or the oldest from which a watch can begin. */
  oldest(from: Revision): Revision {
    return from < this.#compacted ? this.#compacted : from;
  }

  /** The place of the first commit after a revision, also of a future one. Throws when the place is unknown. */
  placeAfter(from: Revision): number {
    if (from > this.#latest) {
      throw new AppError(
        "unprocessable",
        `revision ${from} has not happened yet; the newest is ${this.#latest}`,
        { field: "afterRevision" },
      );
    }
    if (from < this.#compacted) throw this.#noLonger(from);
    let low = this.#head;
    let high = this.#commits.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#commits[middle]?.revision ?? 0) <= from) low = middle + 1;
      else high = middle;
    }
    return this.#dropped + low;
  }

  #noLonger(from: Revision): AppError {
    return new AppError(
      "compacted",
      `changes after revision ${from} have expired (retained: after ${this.#compacted}); ` +
        "list again and watch from the revision of that answer",
    );
  }
}
