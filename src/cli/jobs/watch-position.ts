import type { WatchEvent } from "../../client/messages.ts";

/**
 * Where a reader is in the changes, so that after a lost link it neither misses nor repeats one.
 *
 * Changes of one commit share a revision and come one by one, in the same order each time. So a link
 * may be lost within a commit: the reader resumes before it, and passes over those it has seen.
 */
export class WatchPosition {
  /** All up to here was seen. */
  #after: bigint;
  /** The newest commit of which something was seen, and how many of its events; 0: none. */
  #newest = 0n;
  #seen = 0;
  /** How many of these came through the present link. */
  #passed = 0;

  constructor(after: bigint) {
    this.#after = after;
  }

  /** Where to resume; 0: from now on. */
  get after(): bigint {
    return this.#after;
  }

  /** A new link: it may begin with events that were seen. */
  begin(): void {
    this.#passed = 0;
  }

  /** Notes an event; whether it is new. */
  take({ revision, event }: Pick<WatchEvent, "revision" | "event">): boolean {
    if (event.case === "sync" || event.case === "bookmark") {
      this.sawAll(revision);
      return true;
    }
    if (revision < this.#newest) return false;
    if (revision > this.#newest) {
      this.#newest = revision;
      this.#seen = 0;
      this.#passed = 0;
      // Before revision 1 there is nothing to resume from.
      this.#after = revision > 1n ? revision - 1n : revision;
    }
    this.#passed++;
    if (this.#passed <= this.#seen) return false;
    this.#seen = this.#passed;
    return true;
  }

  /** The server no longer has the changes after `after`. */
  loseHistory(): void {
    // It may still have those after the commit that was seen in part.
    this.#after = this.#after < this.#newest ? this.#newest : 0n;
    this.#newest = 0n;
  }

  /** All up to this revision has come. */
  sawAll(revision: bigint): void {
    if (revision > this.#after) this.#after = revision;
    if (revision >= this.#newest) this.#newest = 0n;
  }
}
