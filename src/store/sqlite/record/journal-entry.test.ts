import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { packBatch, type PackedBatch } from "../messages.ts";
import {
  decodeEntry,
  encodeEntry,
  ENTRY_PAGE_BYTES,
  entryBytes,
  lastEntry,
  readEntries,
  type JournalEntry,
} from "./journal-entry.ts";

const PASS = { number: 77, from: 10 };

const aBatch = (revision: number, value = "v"): PackedBatch =>
  packBatch({
    revision,
    writes: [
      { key: `k${revision}`, value },
      { key: "gone", value: undefined },
    ],
    lastId: 3,
  });

const anEntry = (before: number, after: number, pass = PASS.number): JournalEntry => ({
  pass,
  before,
  after,
  lastId: 5,
  batches: [aBatch(after)],
});

/** Three entries, with room behind them. */
const three = [anEntry(10, 12), anEntry(12, 13), anEntry(13, 20)];
const write = (entries: readonly JournalEntry[]): Buffer =>
  Buffer.concat([...entries.map((entry) => encodeEntry(entry)), Buffer.alloc(ENTRY_PAGE_BYTES)]);

const text = fc.string({ unit: "grapheme", maxLength: 40 });
const batches = fc.array(
  fc
    .record({
      revision: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      lastId: fc.nat(),
      writes: fc.array(
        fc.record({
          key: text,
          value: fc.option(text, { nil: undefined }),
          revision: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        }),
        { maxLength: 20 },
      ),
    })
    .map(packBatch),
  { maxLength: 5 },
);

describe("an entry of the journal", () => {
  test("comes back as it was written, in whole pages", () => {
    fc.assert(
      fc.property(batches, fc.nat(), (written, lastId) => {
        const entry: JournalEntry = { pass: 1, before: 2, after: 3, lastId, batches: written };
        const bytes = encodeEntry(entry);
        expect(bytes.length % ENTRY_PAGE_BYTES).toBe(0);
        expect(bytes.length).toBe(entryBytes(written));
        expect(decodeEntry(bytes, 0)).toEqual({ entry, next: bytes.length });
      }),
    );
  });

  test("of several strings does not exist: such a batch is too long", () => {
    const [part] = aBatch(1).parts;
    if (part === undefined) throw new Error("a batch has a part");
    expect(entryBytes([{ revision: 1, lastId: 0, parts: [part, part] }])).toBeUndefined();
  });
});

describe("the journal", () => {
  test("has the entries of one pass, each of which continues the one before", () => {
    expect(readEntries(write(three), PASS)).toEqual(three);
    expect(readEntries(Buffer.alloc(3 * ENTRY_PAGE_BYTES), PASS)).toEqual([]);
  });

  const stops = [
    { why: "of an earlier pass", entries: [anEntry(10, 12), anEntry(12, 13, 76)] },
    { why: "that leaves a gap", entries: [anEntry(10, 12), anEntry(13, 14)] },
    { why: "that repeats a revision", entries: [anEntry(10, 12), anEntry(10, 12)] },
  ];
  for (const { why, entries } of stops) {
    test(`ends before an entry ${why}`, () => {
      expect(readEntries(write(entries), PASS)).toEqual(entries.slice(0, 1));
    });
  }

  test("of another beginning is empty", () => {
    expect(readEntries(write(three), { ...PASS, from: 12 })).toEqual([]);
  });

  test("cut at any byte has the whole entries before the cut", () => {
    const bytes = write(three);
    const ends = three.map((_, index) => {
      const start = index * ENTRY_PAGE_BYTES;
      return start + bytes.readUInt32LE(start + 8); // the entry without its padding
    });
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const whole = ends.filter((end) => end <= cut).length;
      for (const rest of [bytes.subarray(0, cut), zeroed(bytes, cut)]) {
        expect(readEntries(rest, PASS).length).toBe(whole);
      }
    }
    expect(ends).toHaveLength(three.length);
  });

  test("with any bit flipped ends before the damaged entry, and never has another one", () => {
    const bytes = write(three);
    for (let bit = 0; bit < 8 * three.length * ENTRY_PAGE_BYTES; bit += 1) {
      const at = bit >> 3;
      const start = Math.floor(at / ENTRY_PAGE_BYTES) * ENTRY_PAGE_BYTES;
      if (at - start > bytes.readUInt32LE(start + 8)) continue; // no program reads the padding
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
      const found = readEntries(bytes, PASS);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
      const isIn = at - start < bytes.readUInt32LE(start + 8);
      const whole = isIn ? start / ENTRY_PAGE_BYTES : three.length;
      if (found.length !== whole)
        expect({ bit, found: found.length }).toEqual({ bit, found: whole });
    }
    expect(readEntries(bytes, PASS)).toEqual(three);
  });

  test("has a last entry, also behind damaged ones, and never one of another pass", () => {
    const bytes = write([...three, anEntry(20, 30, 76)]);
    expect(lastEntry(bytes, PASS.number)).toEqual(three[2]);
    bytes.fill(0, 60, ENTRY_PAGE_BYTES + 60);
    expect(readEntries(bytes, PASS)).toEqual([]);
    expect(lastEntry(bytes, PASS.number)).toEqual(three[2]);
    bytes.fill(0, 2 * ENTRY_PAGE_BYTES, 2 * ENTRY_PAGE_BYTES + 60);
    expect(lastEntry(bytes, PASS.number)).toBeUndefined();
  });

  test("is the same from a buffer that had another entry", () => {
    const used = Buffer.alloc(2 * ENTRY_PAGE_BYTES, 7);
    const [one] = three as [JournalEntry];
    expect(encodeEntry(one, ENTRY_PAGE_BYTES, used)).toEqual(encodeEntry(one));
  });

  test("ignores a whole entry that a client put into a value", () => {
    const inner = encodeEntry(anEntry(12, 99));
    const outer = { ...anEntry(10, 12), batches: [aBatch(12, inner.toString("latin1"))] };
    const region = write([outer]);
    inner.copy(region, ENTRY_PAGE_BYTES); // even if an earlier pass left exactly its bytes in the right place
    expect(readEntries(region, { number: 78, from: 10 })).toEqual([]);
    const later = write([anEntry(10, 12, 78)]);
    inner.copy(later, ENTRY_PAGE_BYTES);
    expect(readEntries(later, { number: 78, from: 10 })).toHaveLength(1);
  });
});

function zeroed(bytes: Buffer, from: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.fill(0, from);
  return copy;
}
