import { randomInt } from "node:crypto";
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import type { PackedBatch } from "../messages.ts";
import { encodeEntry } from "./journal-entry.ts";
import { entryAt, type JournalTail, tailAfter } from "./journal-tail.ts";
import {
  JOURNAL_AT,
  recordFile,
  SLOT_STRIDE,
  SLOTS,
  writeNewRecord,
  type ReadRecord,
} from "./record-file.ts";
import { encodeSlot, type Mark, type Pass, type RecordState } from "./record-slot.ts";

/** A new pass over the journal, from a revision up to which the database itself is durable. */
export const newPass = (from: number): Pass => ({ number: randomInt(2 ** 47), from });

/** Half of the slots are flushed at any time, whatever becomes of the others. */
const UNFLUSHED_MAX = SLOTS / 2;

/**
 * The record of an open database: how far the store has come, and a journal of the commits that the database lacks or has not flushed yet
 * (docs/design/durable-record.md). Every write goes over existing bytes, so that a flush writes these bytes and nothing else.
 *
 *   append, append, …   each makes one commit durable
 *   begin               the database itself is durable: the journal is empty again
 *
 * A JournalAppender may append instead, from `tail` on: then `continueFrom` says how far it came. Slots are written here alone.
 */
export class DurableRecord {
  readonly #file: number;
  #state: RecordState;
  #slot: number; // number of the newest one
  #begins: Mark; // the totals where the present pass begins
  #end = 0; // of the last entry, from the beginning of the journal
  #unflushed = 0; // slots

  private constructor(directory: string, state: RecordState, slot: number, begins: Mark) {
    this.#state = state;
    this.#slot = slot;
    this.#begins = begins;
    this.#file = openSync(recordFile(directory), "r+");
  }

  /** Continues the record in place, or makes a new file where it is missing, damaged or without a journal. */
  static open(directory: string, read: ReadRecord, state: RecordState, mark: Mark): DurableRecord {
    if (read.kind !== "read" || !read.isComplete || read.badSlots > 0) {
      writeNewRecord(directory, state);
      return new DurableRecord(directory, state, 0, mark);
    }
    const record = new DurableRecord(directory, state, read.slot, mark);
    record.#writeSlot({});
    fsyncSync(record.#file);
    record.#unflushed = 0;
    return record;
  }

  get state(): RecordState {
    return this.#state;
  }

  /** Where the next entry goes. */
  get tail(): JournalTail {
    const { pass, intended: revision, lastId } = this.#state;
    return { pass: pass?.number ?? 0, end: this.#end, revision, lastId };
  }

  /** Another one has appended entries up to here; they are durable. */
  continueFrom({ end, revision, lastId }: JournalTail): void {
    this.#end = end;
    this.#state = { ...this.#state, durable: revision, intended: revision, lastId };
  }

  /**
   * Makes the batches durable by one flush. The slot is a second witness of the entry: without it a start could not tell a damaged last
   * entry from one that was never written. `applied` is the state of the database.
   */
  append(batches: readonly PackedBatch[], bytes: number, applied: Mark): void {
    const entry = entryAt(this.tail, batches);
    this.#write(encodeEntry(entry, bytes), JOURNAL_AT + this.#end);
    const after = tailAfter(this.tail, entry, bytes);
    const { after: intended, lastId } = entry;
    this.#writeSlot({ intended, lastId, marks: [this.#begins, applied] });
    this.#flush();
    this.continueFrom(after);
  }

  /** Records that everything so far is durable. Power loss may undo this write: then the state before it is still right. */
  confirm(applied: Mark): void {
    this.#writeSlot({ marks: [this.#begins, applied] });
    if (this.#unflushed >= UNFLUSHED_MAX) this.#flush();
  }

  /** The database itself is durable at `mark`, and has everything: the journal begins from the front. */
  begin(mark: Mark, lastId: number): void {
    const { revision } = mark;
    this.#begins = mark;
    this.#end = 0;
    this.#writeSlot({
      durable: revision,
      intended: revision,
      marks: [mark],
      pass: newPass(revision),
      lastId: Math.max(lastId, this.#state.lastId),
    });
    this.#flush();
  }

  close(): void {
    closeSync(this.#file);
  }

  #writeSlot(changed: Partial<RecordState>): void {
    const sequence = this.#state.sequence + 1;
    this.#state = { ...this.#state, ...changed, sequence, atMs: Date.now() };
    this.#slot = (this.#slot + 1) % SLOTS;
    this.#write(encodeSlot(this.#state), this.#slot * SLOT_STRIDE);
    this.#unflushed += 1;
  }

  #flush(): void {
    fdatasyncSync(this.#file);
    this.#unflushed = 0;
  }

  #write(bytes: Buffer, at: number): void {
    const written = writeSync(this.#file, bytes, 0, bytes.length, at);
    if (written < bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes written`);
  }
}
