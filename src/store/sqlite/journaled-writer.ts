import { invariant } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import { DELETED, type PackedBatch } from "./messages.ts";
import type { DurableRecord } from "./record/durable-record.ts";
import { entryBytes } from "./record/journal-entry.ts";
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
 * After a failure it only closes: the state on disk is no longer known.
 */
export class JournaledWriter {
  readonly #rows: RowWriter;
  readonly #record: DurableRecord;
  readonly #flushLog: () => void;
  #pending: PackedBatch[] = []; // bounded by the journal, and by the calls of `apply`
  #pendingRows = 0;
  #isConfirmed = true;
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

  /** When it returns, the batches are durable. */
  commit(batches: readonly PackedBatch[]): void {
    this.#attempt(() => {
      const bytes = this.#bytesInJournal(batches);
      this.#add(batches);
      if (bytes === undefined) return this.#settle();
      this.#record.append(batches, bytes, this.#mark());
      this.#isConfirmed = false;
      if (this.#copies > 0) this.#apply(); // a copy of the database must have everything acknowledged
    });
  }

  apply(): void {
    this.#attempt(() => this.#apply());
  }

  /** No commit comes for now: applies, and records that everything is durable, so that a start after power loss knows it. */
  rest(): void {
    this.#attempt(() => {
      this.#apply();
      if (!this.#isConfirmed) this.#record.confirm(this.#mark());
      this.#isConfirmed = true;
    });
  }

  /** Before a checkpoint: while it changes the file of the database, a start must not need an older state of it. */
  settle(): void {
    this.#attempt(() => this.#settle());
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
      if (!this.#isBroken) this.settle();
    } finally {
      this.#record.close();
    }
  }

  /** Undefined for batches that go to the database at once. */
  #bytesInJournal(batches: readonly PackedBatch[]): number | undefined {
    const chars = batches.reduce((sum, { parts }) => sum + (parts[0]?.text.length ?? 0), 0);
    if (chars > limits.storeJournalEntryBytesMax) return undefined; // cheaper than to count bytes
    const bytes = entryBytes(batches);
    if (bytes === undefined || bytes > limits.storeJournalEntryBytesMax) return undefined;
    if (batches.some(hasKeyTwice)) return undefined; // the database rejects it before it is durable
    return this.#record.fits(bytes) ? bytes : undefined;
  }

  #add(batches: readonly PackedBatch[]): void {
    for (const batch of batches) {
      this.#pending.push(batch);
      for (const { revisions } of batch.parts) this.#pendingRows += revisions.length;
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
  }

  #mark = (): Mark => ({ ...this.#rows.totals });

  #attempt(work: () => void): void {
    invariant(!this.#isBroken, "a writer that failed is not used again");
    this.#isBroken = true;
    work();
    this.#isBroken = false;
  }
}

/** Without objects for the rows: it runs for every small commit. */
function hasKeyTwice({ parts }: PackedBatch): boolean {
  const keys = new Set<string>();
  let rows = 0;
  for (const { text, lengths } of parts) {
    let at = 0;
    for (let index = 0; index < lengths.length; index += 2) {
      const keyEnd = at + (lengths[index] ?? 0);
      keys.add(text.substring(at, keyEnd));
      rows += 1;
      at = keyEnd + Math.max(0, lengths[index + 1] ?? DELETED); // DELETED is negative
    }
  }
  return keys.size < rows;
}
