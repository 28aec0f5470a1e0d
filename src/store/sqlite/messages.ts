import { limits } from "../../limits.ts";
import type { Batch, RowWrite, StoredRow } from "../../ports/store.ts";
import { checkText } from "../keys.ts";
import type { StoreFailure } from "./failures.ts";
import type { JournalTail } from "./record/journal-tail.ts";

/**
 * Messages between the store and its thread. Rows travel as one joined string and an array of lengths: copying one long string costs half
 * as much as copying an array of short ones, and a third of an array of objects.
 */
export interface PackedWrites {
  readonly text: string; // key, value, key, value, … without separators
  readonly lengths: Int32Array; // lengths of key, value, …; DELETED in place of a value's length
  readonly revisions: Float64Array; // the revision of each row
}

export interface PackedBatch {
  readonly revision: number;
  readonly lastId: number;
  readonly parts: readonly PackedWrites[]; // more than one only when a string would get too long
}

export const DELETED = -1;

/** Keys are separate strings: readers retain them, and a slice would retain the whole joined string. */
export interface PackedRows {
  readonly keys: readonly string[];
  readonly text: string; // the values
  readonly lengths: Int32Array; // lengths of the values
  readonly revisions: Float64Array;
}

/** The size of rows on their way to the reader. */
export const charsOf = ({ keys, text }: PackedRows): number =>
  text.length + keys.length * (keys[0]?.length ?? 0);

export type ToThread =
  | { readonly kind: "load" }
  | { readonly kind: "more"; readonly chars: number } // the reader took rows of this size: the thread may send as many
  | { readonly kind: "stop-load" }
  | { readonly kind: "apply"; readonly journaled: readonly PackedBatch[] } // rows that are durable in the journal
  | ({ readonly kind: "commit"; readonly batches: readonly PackedBatch[] } & Lent)
  | ({ readonly kind: "rest" } & Lent) // no commit comes for now
  | { readonly kind: "backup"; readonly file: string }
  | ({ readonly kind: "close" } & Partial<Lent>); // without the journal after a failure

/** The journal comes back to the thread, with the batches that it has not received yet; a message with the new tail returns it. */
export interface Lent {
  readonly tail: JournalTail;
  readonly journaled: readonly PackedBatch[];
}

export type FromThread =
  | {
      readonly kind: "opened";
      readonly revision: number;
      readonly lastId: number;
      readonly tail: JournalTail;
    }
  | { readonly kind: "refused"; readonly failure: StoreFailure } // and the thread ends
  | { readonly kind: "rows"; readonly rows: PackedRows }
  | { readonly kind: "loaded" }
  | { readonly kind: "committed"; readonly revision: number; readonly tail: JournalTail } // and so is every batch before it
  | { readonly kind: "rested"; readonly tail: JournalTail }
  | { readonly kind: "failed"; readonly failure: StoreFailure } // and every later call fails too
  | { readonly kind: "backed-up"; readonly failure: StoreFailure | undefined }
  | { readonly kind: "warned"; readonly failure: StoreFailure };

export interface ThreadData {
  readonly directory: string;
}

/** Rows of a batch. */
export function rowsOf({ parts }: PackedBatch): number {
  let rows = 0;
  for (const { revisions } of parts) rows += revisions.length;
  return rows;
}

export function packBatch({ revision, writes, lastId = 0 }: Batch): PackedBatch {
  const parts: PackedWrites[] = [];
  let lengths: number[] = [];
  let revisions: number[] = [];
  let text = "";
  const endPart = (): void => {
    checkText(text);
    parts.push({
      text,
      lengths: Int32Array.from(lengths),
      revisions: Float64Array.from(revisions),
    });
    lengths = [];
    revisions = [];
    text = "";
  };
  for (const { key, value, revision: own = revision } of writes) {
    text += value === undefined ? key : key + value;
    revisions.push(own);
    lengths.push(key.length, value === undefined ? DELETED : value.length);
    if (text.length >= limits.storePartCharsMax) endPart();
  }
  endPart();
  return { revision, lastId, parts };
}

/** The writes of a batch, in their order; `value` undefined deletes the key. */
export function* unpackWrites({ parts }: PackedBatch): Generator<Required<RowWrite>> {
  for (const { text, lengths, revisions } of parts) {
    let at = 0;
    for (let row = 0; row < revisions.length; row += 1) {
      const key = text.substring(at, (at += lengths[2 * row] ?? 0));
      const length = lengths[2 * row + 1] ?? DELETED;
      const value = length === DELETED ? undefined : text.substring(at, (at += length));
      yield { key, value, revision: revisions[row] };
    }
  }
}

export function unpackRows({ keys, text, lengths, revisions }: PackedRows): readonly StoredRow[] {
  let at = 0;
  return keys.map((key, index) => {
    const value = text.substring(at, (at += lengths[index] ?? 0));
    return { key, value, revision: revisions[index] ?? 0 };
  });
}
