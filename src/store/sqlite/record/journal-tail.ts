import { limits } from "../../../limits.ts";
import { DELETED, type PackedBatch, type PackedWrites } from "../messages.ts";
import { entryBytes, type JournalEntry } from "./journal-entry.ts";

/** A place in the journal for the next entry. */
export interface JournalTail {
  readonly pass: number; // its number
  readonly end: number; // of the last entry, from the beginning of the journal
  readonly revision: number; // of the last batch
  readonly lastId: number;
}

/** The entry that continues from this place. */
export function entryAt(tail: JournalTail, batches: readonly PackedBatch[]): JournalEntry {
  const after = batches.at(-1)?.revision ?? tail.revision;
  const lastId = Math.max(tail.lastId, ...batches.map((batch) => batch.lastId));
  return { pass: tail.pass, before: tail.revision, after, lastId, batches };
}

/** The place behind this entry. */
export const tailAfter = (tail: JournalTail, entry: JournalEntry, bytes: number): JournalTail => ({
  pass: tail.pass,
  end: tail.end + bytes,
  revision: entry.after,
  lastId: entry.lastId,
});

/** The bytes of an entry with these batches; undefined for batches that must go to the database at once. */
export function journalBytes(
  tail: JournalTail,
  batches: readonly PackedBatch[],
): number | undefined {
  const chars = batches.reduce((sum, { parts }) => sum + (parts[0]?.text.length ?? 0), 0);
  if (chars > limits.storeJournalEntryBytesMax) return undefined; // cheaper than to count bytes
  const bytes = entryBytes(batches);
  if (bytes === undefined || bytes > limits.storeJournalEntryBytesMax) return undefined;
  if (batches.some(hasKeyTwice)) return undefined; // the database rejects it before it is durable
  return tail.end + bytes <= limits.storeJournalBytes ? bytes : undefined;
}

/** By the hashes of keys, which makes no strings: it runs for every small commit. Keys are compared only where hashes are equal. */
function hasKeyTwice({ parts }: PackedBatch): boolean {
  const hashes = new Set<number>();
  let rows = 0;
  for (const { text, lengths } of parts) {
    let at = 0;
    for (let row = 0; row < lengths.length; row += 2) {
      const keyEnd = at + (lengths[row] ?? 0);
      hashes.add(hashOf(text, at, keyEnd));
      rows += 1;
      at = keyEnd + Math.max(0, lengths[row + 1] ?? DELETED); // DELETED is negative
    }
  }
  return hashes.size < rows && new Set(parts.flatMap(keysOf)).size < rows;
}

/** FNV-1a, in 30 bits: larger numbers are objects to V8. */
function hashOf(text: string, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash & 0x3fffffff;
}

function keysOf({ text, lengths }: PackedWrites): string[] {
  const keys: string[] = [];
  let at = 0;
  for (let row = 0; row < lengths.length; row += 2) {
    const keyEnd = at + (lengths[row] ?? 0);
    keys.push(text.substring(at, keyEnd));
    at = keyEnd + Math.max(0, lengths[row + 1] ?? DELETED);
  }
  return keys;
}
