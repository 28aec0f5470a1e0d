import { limits } from "../../limits.ts";
import type { Batch, RowWrite, StoredRow } from "../../ports/store.ts";
import { checkText } from "../keys.ts";
import type { StoreFailure } from "./failures.ts";

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

export type ToThread =
  | { readonly kind: "load" }
  | { readonly kind: "more" } // the reader took one chunk: the thread may send one more
  | { readonly kind: "stop-load" }
  | { readonly kind: "commit"; readonly batch: PackedBatch }
  | { readonly kind: "backup"; readonly file: string }
  | { readonly kind: "close" };

export type FromThread =
  | { readonly kind: "opened"; readonly revision: number; readonly lastId: number }
  | { readonly kind: "refused"; readonly failure: StoreFailure } // and the thread ends
  | { readonly kind: "rows"; readonly rows: PackedRows }
  | { readonly kind: "loaded" }
  | { readonly kind: "committed"; readonly revision: number } // and so is every batch before it
  | { readonly kind: "failed"; readonly failure: StoreFailure } // and every later call fails too
  | { readonly kind: "backed-up"; readonly failure: StoreFailure | undefined }
  | { readonly kind: "warned"; readonly failure: StoreFailure };

export interface ThreadData {
  readonly directory: string;
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
