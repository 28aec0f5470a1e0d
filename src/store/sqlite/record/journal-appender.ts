import { closeSync, constants, openSync, write } from "node:fs";
import { limits } from "../../../limits.ts";
import type { PackedBatch } from "../messages.ts";
import { encodeEntry, type JournalEntry } from "./journal-entry.ts";
import { entryAt, journalBytes, type JournalTail, tailAfter } from "./journal-tail.ts";
import { JOURNAL_AT, recordFile } from "./record-file.ts";

const { O_RDWR, O_DSYNC } = constants;

/**
 * Appends entries to the journal of a record, without blocking its thread: one write in libuv's pool, which returns when the entry is durable. One
 * entry at a time.
 */
export class JournalAppender {
  readonly #file: number;
  readonly #buffer = Buffer.alloc(limits.storeJournalEntryBytesMax);
  tail: JournalTail;

  constructor(directory: string, tail: JournalTail) {
    this.#file = openSync(recordFile(directory), O_RDWR | O_DSYNC);
    this.tail = tail;
  }

  /** The bytes of an entry with these batches; undefined for batches that the journal cannot hold now. */
  bytesFor(batches: readonly PackedBatch[]): number | undefined {
    return journalBytes(this.tail, batches);
  }

  /** Calls `done` when the entry is durable, or with the error; then nothing more may be appended. */
  append(batches: readonly PackedBatch[], bytes: number, done: (error?: Error) => void): void {
    const entry = entryAt(this.tail, batches);
    const encoded = encodeEntry(entry, bytes, this.#buffer);
    const at = JOURNAL_AT + this.tail.end;
    write(this.#file, encoded, 0, bytes, at, (error, written) => {
      if (error !== null) done(error);
      else if (written < bytes) done(new Error(`only ${written} of ${bytes} bytes written`));
      else this.#appended(entry, bytes, done);
    });
  }

  close(): void {
    closeSync(this.#file);
  }

  #appended(entry: JournalEntry, bytes: number, done: () => void): void {
    this.tail = tailAfter(this.tail, entry, bytes);
    done();
  }
}
