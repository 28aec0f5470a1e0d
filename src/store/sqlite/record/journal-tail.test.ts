import * as fc from "fast-check";
import { expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { packBatch, type PackedBatch } from "../messages.ts";
import { ENTRY_PAGE_BYTES } from "./journal-entry.ts";
import { entryAt, journalBytes, type JournalTail, tailAfter } from "./journal-tail.ts";

const START: JournalTail = { pass: 1, end: 0, revision: 10, lastId: 7 };
const aBatch = (revision: number, lastId = 0, value = "v"): PackedBatch =>
  packBatch({ revision, lastId, writes: [{ key: "k", value }] });

test("an entry continues from its place, and the next place is behind it", () => {
  const first = entryAt(START, [aBatch(12, 9), aBatch(13)]);
  expect(first).toMatchObject({ pass: 1, before: 10, after: 13, lastId: 9 });
  const next = tailAfter(START, first, ENTRY_PAGE_BYTES);
  expect(next).toEqual({ pass: 1, end: ENTRY_PAGE_BYTES, revision: 13, lastId: 9 });
  expect(entryAt(next, [aBatch(14)])).toMatchObject({ before: 13, after: 14, lastId: 9 });
});

test("small batches have room while the journal is not full", () => {
  const { storeJournalBytes, storeJournalEntryBytesMax } = limits;
  const bytesOf = (batch: PackedBatch, end = 0) => journalBytes({ ...START, end }, [batch]);
  expect(bytesOf(aBatch(1))).toBe(ENTRY_PAGE_BYTES);
  expect(bytesOf(aBatch(1), storeJournalBytes - ENTRY_PAGE_BYTES)).toBe(ENTRY_PAGE_BYTES);
  expect(bytesOf(aBatch(1), storeJournalBytes)).toBeUndefined();
  expect(bytesOf(aBatch(1, 0, "x".repeat(storeJournalEntryBytesMax)))).toBeUndefined();
  expect(bytesOf(aBatch(1, 0, "ü".repeat(storeJournalEntryBytesMax / 2)))).toBeUndefined();
});

test("a batch that names a key twice has none, with few rows and with many", () => {
  const key = fc.string({ unit: fc.constantFrom("a", "b", "ü", "/"), maxLength: 3 });
  const row = fc.record({ key, value: fc.option(key, { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 20 }), (writes) => {
      const bytes = journalBytes(START, [packBatch({ revision: 1, writes })]);
      const isTwice = new Set(writes.map((each) => each.key)).size < writes.length;
      expect(bytes === undefined).toBe(isTwice);
    }),
    { numRuns: 2_000 },
  );
});

test("keys with the same hash are two keys", () => {
  const [one, other] = ["zfc2n3", "un2n0c"].map((key) => ({ key, value: "v" }));
  const bytesOf = (...writes: { key: string; value: string }[]) =>
    journalBytes(START, [packBatch({ revision: 1, writes })]);
  if (one === undefined || other === undefined) expect.fail();
  expect(bytesOf(one, other)).toBe(ENTRY_PAGE_BYTES);
  expect(bytesOf(one, other, one)).toBeUndefined();
});
