import {
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  write,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { decodeSlot, encodeSlot, SLOT_BYTES, type Mark, type RecordState } from "./record-slot.ts";

/** Slots are pages apart, so that a write that power loss cuts short damages no other slot. */
const SLOT_STRIDE = 4096;
const SLOTS = 8;
const FILE_BYTES = SLOTS * SLOT_STRIDE;
/** Writes under way at once: fewer than half of the slots, so that intact ones are always left. */
const UNDER_WAY_MAX = 3;

export const recordFile = (directory: string): string => join(directory, "busbar.record");

export type ReadRecord =
  | { readonly kind: "missing" }
  | { readonly kind: "damaged" } // no slot is readable
  | { readonly kind: "read"; readonly state: RecordState; readonly badSlots: number };

/** The newest intact slot. A damaged slot may be a write that power loss cut short. */
export function readRecord(directory: string): ReadRecord {
  const file = recordFile(directory);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return { kind: "missing" };
  if (!found.isFile() || found.size > FILE_BYTES) return { kind: "damaged" };
  const bytes = readFileSync(file);
  let newest: RecordState | undefined;
  let badSlots = 0;
  for (let at = 0; at < FILE_BYTES; at += SLOT_STRIDE) {
    const state = decodeSlot(bytes.subarray(at, at + SLOT_BYTES));
    if (state === "empty") continue;
    if (state === undefined) badSlots += 1;
    else if (newest === undefined || state.sequence > newest.sequence) newest = state;
  }
  return newest === undefined ? { kind: "damaged" } : { kind: "read", state: newest, badSlots };
}

/** Written aside and renamed into place, so that no process sees a half-written file. */
export function writeNewRecord(directory: string, state: RecordState): void {
  const bytes = Buffer.alloc(FILE_BYTES);
  encodeSlot(state).copy(bytes);
  const aside = `${recordFile(directory)}-new-${process.pid}-${threadId}`;
  writeFileSync(aside, bytes, { mode: 0o600, flush: true });
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

/**
 * Records, outside the database and its log, how far both have come, so that a log that lost its end is not mistaken for one that never had
 * it (docs/design/durable-record.md).
 *
 * For each commit: `intend` before the log is flushed, and the write of `intend` is flushed at the same time; `confirm` when the log is on
 * disk. The write of `confirm` survives kill -9 in any case. Power loss may undo it; then `intended` shows that a commit was under way.
 */
export class DurableRecord {
  readonly #flushed: number; // O_DSYNC: a write returns when it is on the disk
  readonly #cached: number;
  readonly #underWay = new Set<number>(); // offsets in the file
  #state: RecordState;
  #place: number; // number of the newest slot

  constructor(directory: string, state: RecordState) {
    this.#state = state;
    this.#place = 0; // offset where a new record begins
    const file = recordFile(directory);
    this.#flushed = openSync(file, constants.O_RDWR | constants.O_DSYNC);
    this.#cached = openSync(file, constants.O_RDWR);
  }

  get state(): RecordState {
    return this.#state;
  }

  /** A commit begins. Resolves when this is on disk; other commits need not wait for that. */
  intend(intended: Mark, lastId: number): Promise<void> {
    const bytes = this.#next({ intended, lastId: Math.max(lastId, this.#state.lastId) });
    const place = this.#place;
    if (this.#underWay.size >= UNDER_WAY_MAX) {
      writeSync(this.#flushed, bytes, 0, SLOT_BYTES, place);
      return Promise.resolve();
    }
    this.#underWay.add(place);
    return new Promise((resolve, reject) => {
      write(this.#flushed, bytes, 0, SLOT_BYTES, place, (error) => {
        this.#underWay.delete(place);
        if (error === null) resolve();
        else reject(error);
      });
    });
  }

  /** The commit is on disk: the store may acknowledge it once `intend` has resolved. */
  confirm(durable: Mark): void {
    const bytes = this.#next({ durable });
    writeSync(this.#cached, bytes, 0, SLOT_BYTES, this.#place);
  }

  close(): void {
    fsyncSync(this.#cached);
    closeSync(this.#cached);
    closeSync(this.#flushed);
  }

  /** Moves to the next slot. Skips a slot whose write is under way: the old write could overwrite a newer one. */
  #next(changed: Partial<RecordState>): Buffer {
    const sequence = this.#state.sequence + 1;
    this.#state = { ...this.#state, ...changed, sequence, atMs: Date.now() };
    do this.#place = (this.#place + SLOT_STRIDE) % FILE_BYTES;
    while (this.#underWay.has(this.#place));
    return encodeSlot(this.#state);
  }
}
