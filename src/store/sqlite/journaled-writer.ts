import { invariant } from "../../lib/invariant.ts";
import { type PackedBatch, rowsOf } from "./messages.ts";
import type { DurableRecord } from "./record/durable-record.ts";
import { journalBytes, type JournalTail } from "./record/journal-tail.ts";
import type { Mark } from "./record/record-slot.ts";
import type { RowWriter } from "./row-writer.ts";

/**
 * Makes commits durable: small ones by the journal, large ones by the database.
 *
 *   commit (small)  one entry of the journal, one flush; its rows are pending
 *   apply           writes the pending rows to the database, without a flush
 *   settle          applies, flushes the database's log, and empties the journal
 *   commit (large)  settle, with its own rows
 *
 *   here ──lend──► lent ──takeBack──► here     while another one appends to the journal, only `journaled` and `apply` are allowed
 *
 * After a failure it only closes: the state on disk is no longer known.
 */
export class JournaledWriter {
  readonly #rows: RowWriter;
  readonly #record: DurableRecord;
  readonly #flushLog: () => void;
  #pending: PackedBatch[] = []; // bounded by the journal, and by the calls of `apply`
  #pendingRows = 0;
  #isConfirmed = true;
  #isSettled = false; // the database has everything that this writer knows of, and is flushed
  #isLent = false;
  #isBroken = false;
  #copies = 0;

  constructor(rows: RowWriter, record: DurableRecord, flushLog: () => void) {
    this.#rows = rows;
    this.#record = record;
    this.#flushLog = flushLog;
  }

  /** Of the last durable batch. */
  get revision(): number {
    return this.#record.state.intended;
  }

  get lastId(): number {
    return this.#record.state.lastId;
  }

  /** Rows that are durable, but not in the database yet. */
  get pendingRows(): number {
    return this.#pendingRows;
  }

  /** From now on another one appends to the journal, from this place on. */
  lend(): JournalTail {
    this.#isLent = true;
    return this.#record.tail;
  }

  /** The other one has appended up to this place, and `journaled` has all its batches. */
  takeBack(tail: JournalTail): void {
    invariant(this.#isLent, "the journal is taken back once");
    this.#isLent = false;
    this.#record.continueFrom(tail);
  }

  /** The other one has made the batches durable. */
  journaled(batches: readonly PackedBatch[]): void {
    if (batches.length > 0) this.#isConfirmed = false;
    this.#add(batches);
  }

  /** When it returns, the batches are durable. */
  commit(batches: readonly PackedBatch[]): void {
    this.#attemptHere(() => {
      const bytes = journalBytes(this.#record.tail, batches);
      this.#add(batches);
      if (bytes === undefined) return this.#settle();
      this.#record.append(batches, bytes, this.#mark());
      this.#isConfirmed = false;
      if (this.#copies > 0) this.#apply(); // a copy of the database must have everything acknowledged
    });
  }

  /** Where another one appends, a slot follows: a start then knows how much the database had. `append` writes it otherwise. */
  apply(): void {
    this.#attempt(() => {
      const last = this.#pending.at(-1);
      this.#apply();
      if (last === undefined || !this.#isLent) return;
      const { tail } = this.#record;
      const lastId = Math.max(tail.lastId, this.#rows.lastId);
      this.#record.continueFrom({ ...tail, revision: last.revision, lastId });
      this.#record.confirm(this.#mark());
    });
  }

  /** No commit comes for now: applies, and records that everything is durable, so that a start after power loss knows it. */
  rest(): void {
    this.#attemptHere(() => {
      this.#apply();
      if (!this.#isConfirmed) this.#record.confirm(this.#mark());
      this.#isConfirmed = true;
    });
  }

  /** Before a checkpoint: while it changes the file of the database, a start must not need an older state of it. */
  settle(): void {
    if (!this.#isSettled) this.#attemptHere(() => this.#settle());
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Applies everything from the beginning to the end of `copy`. */
  async whileApplied(copy: () => Promise<void>): Promise<void> {
    this.apply();
    this.#copies += 1;
    try {
      await copy();
    } finally {
      this.#copies -= 1;
    }
  }

  close(): void {
    try {
      if (!this.#isBroken && !this.#isLent) this.settle();
    } finally {
      this.#record.close();
    }
  }

  #add(batches: readonly PackedBatch[]): void {
    if (batches.length > 0) this.#isSettled = false;
    for (const batch of batches) {
      this.#pending.push(batch);
      this.#pendingRows += rowsOf(batch);
    }
  }

  #apply(): void {
    if (this.#pending.length === 0) return;
    this.#rows.commit(this.#pending);
    this.#pending = [];
    this.#pendingRows = 0;
  }

  #settle(): void {
    this.#apply();
    this.#flushLog();
    this.#record.begin(this.#mark(), this.#rows.lastId);
    this.#isConfirmed = true;
    this.#isSettled = true;
  }

  #mark = (): Mark => ({ ...this.#rows.totals });

  #attemptHere(work: () => void): void {
    invariant(!this.#isLent, "another one appends to the journal");
    this.#attempt(work);
  }

  #attempt(work: () => void): void {
    invariant(!this.#isBroken, "a writer that failed is not used again");
    this.#isBroken = true;
    work();
    this.#isBroken = false;
  }
}
