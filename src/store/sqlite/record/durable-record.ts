import { randomInt } from "node:crypto";
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import { limits } from "../../../limits.ts";
import type { PackedBatch } from "../messages.ts";
import { encodeEntry } from "./journal-entry.ts";
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

/**
 * The record of an open database: how far the store has come, and a journal of the commits that the database lacks or has not flushed yet
 * (docs/design/durable-record.md). Every write goes over existing bytes, so that a flush writes these bytes and nothing else.
 *
 *   append, append, …   each makes one commit durable
 *   begin               the database itself is durable: the journal is empty again
 */
export class DurableRecord {
  readonly #file: number;
  #state: RecordState;
  #slot: number; // number of the newest one
  #begins: Mark; // the totals where the present pass begins
  #end = 0; // of the last entry, from the beginning of the journal

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
    return record;
  }

  get state(): RecordState {
    return this.#state;
  }

  /** Whether the rest of the journal holds an entry of this length. */
  fits(bytes: number): boolean {
    return this.#state.pass !== undefined && this.#end + bytes <= limits.storeJournalBytes;
  }

  /**
   * Makes the batches durable by one flush. The slot is a second witness of the entry: without it a start could not tell a damaged last
   * entry from one that was never written. `applied` is the state of the database.
   */
  append(batches: readonly PackedBatch[], bytes: number, applied: Mark): void {
    const { intended: before, pass } = this.#state;
    const after = batches.at(-1)?.revision ?? before;
    const lastId = Math.max(this.#state.lastId, ...batches.map((batch) => batch.lastId));
    const entry = { pass: pass?.number ?? 0, before, after, lastId, batches };
    const encoded = encodeEntry(entry, bytes);
    this.#write(encoded, JOURNAL_AT + this.#end);
    this.#end += bytes;
    this.#writeSlot({ intended: after, lastId, marks: [this.#begins, applied] });
    fdatasyncSync(this.#file);
    this.#state = { ...this.#state, durable: after };
  }

  /** Records that everything is durable. Power loss may undo this write: then the state before it is still right. */
  confirm(applied: Mark): void {
    this.#writeSlot({ marks: [this.#begins, applied] });
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
    fdatasyncSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }

  /**
   * Writes the next slot. At most two are not flushed: that of `confirm`, which is followed by a flush, and that of the flush itself. So
   * intact ones are always left.
   */
  #writeSlot(changed: Partial<RecordState>): void {
    const sequence = this.#state.sequence + 1;
    this.#state = { ...this.#state, ...changed, sequence, atMs: Date.now() };
    this.#slot = (this.#slot + 1) % SLOTS;
    this.#write(encodeSlot(this.#state), this.#slot * SLOT_STRIDE);
  }

  #write(bytes: Buffer, at: number): void {
    const written = writeSync(this.#file, bytes, 0, bytes.length, at);
    if (written < bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes written`);
  }
}
