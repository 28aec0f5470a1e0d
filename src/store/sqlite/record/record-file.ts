import { closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import type { LastIssued } from "../../../core/model/recovery.ts";
import { writeWholeFile } from "../../../lib/files/write-whole-file.ts";
import { limits } from "../../../limits.ts";
import { lastEntry, readEntries, type JournalEntry } from "./journal-entry.ts";
import { decodeSlot, encodeSlot, SLOT_BYTES, type RecordState } from "./record-slot.ts";

// busbar.record: eight slots, each in a page of its own, then the journal.

/** Slots are pages apart, so that a write that power loss cuts short damages no other slot. */
export const SLOT_STRIDE = 4096;
export const SLOTS = 8;
/** Where the journal begins. Versions without one refuse a longer file. */
export const JOURNAL_AT = SLOTS * SLOT_STRIDE;
const FILE_BYTES = JOURNAL_AT + limits.storeJournalBytes;

export const recordFile = (directory: string): string => join(directory, "busbar.record");

export type ReadRecord =
  | { readonly kind: "missing" }
  | { readonly kind: "damaged" } // no slot is readable, or some are cut off
  | ReadableRecord;

export interface ReadableRecord {
  readonly kind: "read";
  readonly state: RecordState;
  readonly slot: number; // the number of its slot
  readonly entries: readonly JournalEntry[]; // all intact ones of the last pass, in order
  readonly last: JournalEntry | undefined; // the last intact one of this pass: `entries` may end before it, at a damaged one
  readonly badSlots: number;
  readonly isComplete: boolean; // has a journal of the right length
}

/** The last revision and id that any client may have seen. An entry may be newer than the last intact slot. */
export function lastIssued({ state, last }: ReadableRecord): LastIssued {
  return {
    revision: Math.max(state.intended, last?.after ?? 0),
    lastId: Math.max(state.lastId, last?.lastId ?? 0),
  };
}

/** The newest intact slot, and the journal. A damaged slot may be a write that power loss cut short. */
export function readRecord(directory: string): ReadRecord {
  const file = recordFile(directory);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return { kind: "missing" };
  if (!found.isFile() || found.size > FILE_BYTES) return { kind: "damaged" };
  return decodeRecord(readFileSync(file));
}

export function decodeRecord(bytes: Buffer): ReadableRecord | { readonly kind: "damaged" } {
  let newest: { readonly state: RecordState; readonly slot: number } | undefined;
  let badSlots = 0;
  for (let slot = 0; slot < SLOTS; slot += 1) {
    const at = slot * SLOT_STRIDE;
    const state = decodeSlot(bytes.subarray(at, at + SLOT_BYTES));
    if (state === "empty") continue;
    if (state === undefined) badSlots += 1;
    else if (newest === undefined || state.sequence > newest.state.sequence)
      newest = { state, slot };
  }
  if (newest === undefined) return { kind: "damaged" };
  const { pass } = newest.state;
  if (pass !== undefined && bytes.length < JOURNAL_AT) return { kind: "damaged" }; // newer slots may be gone
  const journal = bytes.subarray(JOURNAL_AT);
  const entries = pass === undefined ? [] : readEntries(journal, pass);
  const last = pass === undefined ? undefined : lastEntry(journal, pass.number);
  const isComplete = bytes.length === FILE_BYTES;
  return { kind: "read", ...newest, entries, last, badSlots, isComplete };
}

/**
 * Written aside and renamed into place, so that no process sees a half-written file. The journal is real zeros: the first write to space that
 * is only reserved needs a commit of the file system's own journal.
 */
export function writeNewRecord(directory: string, state: RecordState): void {
  const bytes = Buffer.alloc(FILE_BYTES);
  encodeSlot(state).copy(bytes);
  const aside = `${recordFile(directory)}-new-${process.pid}-${threadId}`;
  writeWholeFile(aside, bytes);
  renameSync(aside, recordFile(directory));
  const descriptor = openSync(directory, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** The id of this boot of the machine; "" where it is unknown, which equals no other. */
export function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim().slice(0, 36);
  } catch {
    return "";
  }
}
