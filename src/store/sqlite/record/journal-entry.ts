import { crc32 } from "node:zlib";
import type { PackedBatch, PackedWrites } from "../messages.ts";

/** The batches of one commit, as the journal has them. */
export interface JournalEntry {
  readonly pass: number; // the pass over the journal that wrote it
  readonly before: number; // the revision that it continues from
  readonly after: number; // the revision of its last batch
  readonly lastId: number; // the largest id that any batch so far has named
  readonly batches: readonly PackedBatch[];
}

/** Two entries never share a page: a write that power loss cuts short damages no entry before it. */
export const ENTRY_PAGE_BYTES = 4096;

const MAGIC = 0x314a4242; // "BBJ1"
const HEADER_BYTES = 48;
const BATCH_BYTES = 24;
const ROW_BYTES = 16;

// Numbers are little-endian. The header: magic, checksum of all that follows, length, count of batches, pass, before, after, lastId.
// A batch: revision, lastId, count of rows, bytes of its text; of each row the lengths of key and value, and the revision; the text.

/** Whole pages; undefined for batches that an entry cannot hold. */
export function entryBytes(batches: readonly PackedBatch[]): number | undefined {
  let bytes = HEADER_BYTES;
  for (const { parts } of batches) {
    const [part] = parts;
    if (part === undefined || parts.length > 1) return undefined; // too long for one string
    bytes += BATCH_BYTES + part.revisions.length * ROW_BYTES + Buffer.byteLength(part.text);
  }
  return toPages(bytes);
}

const toPages = (bytes: number): number => Math.ceil(bytes / ENTRY_PAGE_BYTES) * ENTRY_PAGE_BYTES;

/** Whole pages, filled up with zeros: writing a part of a page may have to read the rest first. */
export function encodeEntry(
  entry: JournalEntry,
  bytes = entryBytes(entry.batches) ?? 0,
  buffer: Buffer = Buffer.alloc(bytes),
): Buffer {
  let at = HEADER_BYTES;
  for (const batch of entry.batches) at = writeBatch(buffer, at, batch);
  buffer.writeUInt32LE(MAGIC, 0);
  buffer.writeUInt32LE(at, 8);
  buffer.writeUInt32LE(entry.batches.length, 12);
  buffer.writeDoubleLE(entry.pass, 16);
  buffer.writeDoubleLE(entry.before, 24);
  buffer.writeDoubleLE(entry.after, 32);
  buffer.writeDoubleLE(entry.lastId, 40);
  buffer.writeUInt32LE(crc32(buffer.subarray(8, at)), 4);
  return buffer.fill(0, at, bytes).subarray(0, bytes);
}

function writeBatch(buffer: Buffer, start: number, { revision, lastId, parts }: PackedBatch) {
  const { text, lengths, revisions } = parts[0] as PackedWrites;
  const rows = revisions.length;
  buffer.writeDoubleLE(revision, start);
  buffer.writeDoubleLE(lastId, start + 8);
  buffer.writeUInt32LE(rows, start + 16);
  let at = start + BATCH_BYTES;
  for (let row = 0; row < rows; row += 1) {
    buffer.writeInt32LE(lengths[2 * row] as number, at);
    buffer.writeInt32LE(lengths[2 * row + 1] as number, at + 4);
    buffer.writeDoubleLE(revisions[row] as number, at + 8);
    at += ROW_BYTES;
  }
  const written = buffer.write(text, at, "utf8");
  buffer.writeUInt32LE(written, start + 20);
  return at + written;
}

/** The entry at this place, and where the next one begins; undefined when no intact entry is there. */
export function decodeEntry(
  region: Buffer,
  start: number,
): { readonly entry: JournalEntry; readonly next: number } | undefined {
  if (start + HEADER_BYTES > region.length) return undefined;
  if (region.readUInt32LE(start) !== MAGIC) return undefined;
  const length = region.readUInt32LE(start + 8);
  if (length < HEADER_BYTES || start + length > region.length) return undefined;
  const bytes = region.subarray(start, start + length);
  if (crc32(bytes.subarray(8)) !== bytes.readUInt32LE(4)) return undefined;
  const batches: PackedBatch[] = [];
  let at = HEADER_BYTES;
  for (let count = bytes.readUInt32LE(12); count > 0; count -= 1) {
    const { batch, end } = readBatch(bytes, at);
    batches.push(batch);
    at = end;
  }
  const entry: JournalEntry = {
    pass: bytes.readDoubleLE(16),
    before: bytes.readDoubleLE(24),
    after: bytes.readDoubleLE(32),
    lastId: bytes.readDoubleLE(40),
    batches,
  };
  return { entry, next: start + toPages(length) };
}

/** The checksum was right: the bytes are those that were written. */
function readBatch(bytes: Buffer, start: number): { batch: PackedBatch; end: number } {
  const rows = bytes.readUInt32LE(start + 16);
  const lengths = new Int32Array(2 * rows);
  const revisions = new Float64Array(rows);
  let at = start + BATCH_BYTES;
  for (let row = 0; row < rows; row += 1) {
    lengths[2 * row] = bytes.readInt32LE(at);
    lengths[2 * row + 1] = bytes.readInt32LE(at + 4);
    revisions[row] = bytes.readDoubleLE(at + 8);
    at += ROW_BYTES;
  }
  const end = at + bytes.readUInt32LE(start + 20);
  const text = bytes.toString("utf8", at, end);
  const revision = bytes.readDoubleLE(start);
  const lastId = bytes.readDoubleLE(start + 8);
  return { batch: { revision, lastId, parts: [{ text, lengths, revisions }] }, end };
}

/** The entries of one pass, in order: each continues where the one before it ends. */
export function readEntries(
  region: Buffer,
  pass: { readonly number: number; readonly from: number },
): readonly JournalEntry[] {
  const entries: JournalEntry[] = [];
  let revision = pass.from;
  let found = decodeEntry(region, 0);
  while (found?.entry.pass === pass.number && found.entry.before === revision) {
    entries.push(found.entry);
    revision = found.entry.after;
    found = decodeEntry(region, found.next);
  }
  return entries;
}

/**
 * The last intact entry of a pass on any page, also behind a damaged one: an entry is written when those before it are durable, and so shows that
 * they existed.
 */
export function lastEntry(region: Buffer, pass: number): JournalEntry | undefined {
  let last: JournalEntry | undefined;
  for (let at = 0; at + HEADER_BYTES <= region.length; at += ENTRY_PAGE_BYTES) {
    if (region.readUInt32LE(at) !== MAGIC || region.readDoubleLE(at + 16) !== pass) continue;
    const entry = decodeEntry(region, at)?.entry;
    if (entry !== undefined && entry.after > (last?.after ?? -1)) last = entry;
  }
  return last;
}
