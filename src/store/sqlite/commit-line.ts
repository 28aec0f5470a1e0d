import { limits } from "../../limits.ts";
import { type Lent, type PackedBatch, rowsOf, type ToThread } from "./messages.ts";
import type { JournalAppender } from "./record/journal-appender.ts";
import type { JournalTail } from "./record/journal-tail.ts";

export interface CommitLineEvents {
  readonly send: (message: ToThread) => void;
  /** All batches up to this revision are durable. */
  readonly committed: (revision: number) => void;
  /** The journal cannot be written; the caller calls `fail`. */
  readonly failed: (error: Error) => void;
}

/**
 * Makes batches durable in the order of their arrival, all that wait at once, by one of two ways:
 *
 *   journal   small ones: this thread appends an entry. Their rows go to the store's thread later, many at once.
 *   thread    others, and any while the journal is full or the database is copied: the store's thread commits them.
 *
 *   here ──append──► appending ──► here       the journal is this thread's
 *     └──lend──► lent ──returned──► here      the store's thread has the journal, until it has committed or rested
 *
 * After `fail` it only ends.
 */
export class CommitLine {
  readonly #journal: JournalAppender;
  readonly #events: CommitLineEvents;
  readonly #idle: NodeJS.Timeout;
  #state: "here" | "appending" | "lent" = "here";
  #waiting: PackedBatch[] = []; // bounded by the gate of the store
  #journaled: PackedBatch[] = []; // batches that the store's thread has not received
  #journaledRows = 0;
  #isToRest = false;
  #copy: string | undefined; // the file of a copy that has not begun
  #isCopying = false;
  #isBroken = false;
  #stopped: (() => void) | undefined;
  #isClosing = false;
  #isOver = false;

  constructor(journal: JournalAppender, events: CommitLineEvents) {
    this.#journal = journal;
    this.#events = events;
    this.#idle = setTimeout(() => this.#rest(), limits.storeIdleMs).unref();
  }

  add(batch: PackedBatch): void {
    this.#waiting.push(batch);
    this.#next();
  }

  /** The store's thread has committed, or has rested. */
  returned(tail: JournalTail): void {
    this.#journal.tail = tail;
    this.#state = "here";
    this.#idle.refresh();
    this.#next();
  }

  /** Copies the database. Everything that is durable when the copy ends must be in it: until `copied` the store's thread commits. */
  copy(file: string): void {
    this.#copy = file;
    this.#next();
  }

  copied(): void {
    this.#isCopying = false;
  }

  /** Commits nothing more. Calls `stopped` when the append under way has ended, which may still succeed. */
  fail(stopped: () => void): void {
    if (this.#isOver) return stopped();
    this.#isBroken = true;
    this.#waiting = [];
    this.#stopped = stopped;
    this.#next();
  }

  /** Ends the store's thread after the batches that wait. */
  close(): void {
    this.#isClosing = true;
    this.#next();
  }

  #next(): void {
    if (this.#isOver || this.#state === "appending") return;
    if (this.#isBroken) return this.#stop();
    if (this.#state === "lent") return;
    if (this.#copy !== undefined) this.#beginCopy(this.#copy);
    if (this.#waiting.length > 0) this.#commit();
    else if (this.#isClosing) this.#end(this.#lend());
  }

  #commit(): void {
    const batches = this.#takeGroup();
    this.#isToRest = true;
    const bytes = this.#isCopying ? undefined : this.#journal.bytesFor(batches);
    if (bytes === undefined) return this.#events.send({ kind: "commit", batches, ...this.#lend() });
    this.#state = "appending";
    this.#journal.append(batches, bytes, (error) => {
      this.#state = "here";
      if (error === undefined) this.#appended(batches);
      else this.#events.failed(error);
    });
  }

  #appended(batches: readonly PackedBatch[]): void {
    for (const batch of batches) {
      this.#journaled.push(batch);
      this.#journaledRows += rowsOf(batch);
    }
    this.#idle.refresh();
    this.#events.committed(batches.at(-1)?.revision ?? 0);
    this.#next();
    if (this.#journaledRows >= limits.storeApplyRows && !this.#isOver) this.#sendRows();
  }

  #takeGroup(): readonly PackedBatch[] {
    const waiting = this.#waiting;
    let rows = 0;
    const isFull = (batch: PackedBatch): boolean =>
      (rows += rowsOf(batch)) >= limits.storeGroupRowsMax;
    const count = waiting.findIndex(isFull) + 1 || waiting.length;
    this.#waiting = waiting.slice(count);
    return count === waiting.length ? waiting : waiting.slice(0, count);
  }

  #sendRows(): void {
    if (this.#journaled.length === 0) return;
    this.#events.send({ kind: "apply", journaled: this.#takeJournaled() });
  }

  #takeJournaled(): readonly PackedBatch[] {
    const journaled = this.#journaled;
    this.#journaled = [];
    this.#journaledRows = 0;
    return journaled;
  }

  #lend(): Lent {
    this.#state = "lent";
    return { tail: this.#journal.tail, journaled: this.#takeJournaled() };
  }

  #rest(): void {
    if (this.#state !== "here" || !this.#isToRest || this.#isBroken || this.#isClosing) return;
    this.#isToRest = false;
    this.#events.send({ kind: "rest", ...this.#lend() });
  }

  #beginCopy(file: string): void {
    this.#copy = undefined;
    this.#isCopying = true;
    this.#sendRows();
    this.#events.send({ kind: "backup", file });
  }

  #stop(): void {
    const stopped = this.#stopped;
    this.#stopped = undefined;
    stopped?.();
    if (this.#isClosing) this.#end({});
  }

  /** Without the journal after a failure. */
  #end(lent: Partial<Lent>): void {
    this.#isOver = true;
    clearTimeout(this.#idle);
    this.#events.send({ kind: "close", ...lent });
    this.#journal.close();
  }
}
