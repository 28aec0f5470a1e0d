import { describe, expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { packBatch } from "../messages.ts";
import { encodeEntry, ENTRY_PAGE_BYTES, type JournalEntry } from "../record/journal-entry.ts";
import { decodeRecord, JOURNAL_AT, SLOT_STRIDE, SLOTS } from "../record/record-file.ts";
import { encodeSlot, type Mark, type RecordState } from "../record/record-slot.ts";
import { checkRecord, type RecordVerdict } from "./check-record.ts";

const BOOT = "this boot";
const FROM = 10;
const LAST = 14;
const mark = (revision: number): Mark => ({ revision, rows: revision, digest: 5 });

const entries = Array.from({ length: LAST - FROM }, (_, index): JournalEntry => {
  const before = FROM + index;
  const writes = [{ key: `k${before}`, value: "v" }];
  const batches = [packBatch({ revision: before + 1, writes, lastId: before })];
  return { pass: 7, before, after: before + 1, lastId: before, batches };
});

const aState = (intended: number, applied: number): RecordState => ({
  identity: 1,
  sequence: intended,
  durable: Math.max(FROM, intended - 1),
  intended,
  marks: [mark(FROM), mark(applied)],
  pass: { number: 7, from: FROM },
  lastId: intended,
  atMs: 0,
  boot: BOOT,
  schema: 2,
  firstPage: undefined,
});

/** As a store leaves it that was killed after its fourth small commit; its database had the first two. */
function aRecord(): Buffer {
  const bytes = Buffer.alloc(JOURNAL_AT + limits.storeJournalBytes);
  for (let revision = FROM; revision <= LAST; revision += 1) {
    const slot = encodeSlot(aState(revision, Math.min(revision, FROM + 2)));
    slot.copy(bytes, (revision % SLOTS) * SLOT_STRIDE);
  }
  for (const [index, entry] of entries.entries()) {
    encodeEntry(entry).copy(bytes, JOURNAL_AT + index * ENTRY_PAGE_BYTES);
  }
  return bytes;
}

function judge(bytes: Buffer, revision: number, boot: string): RecordVerdict {
  const found = { totals: mark(revision), identity: 1, schema: 2, firstPage: 0 };
  return checkRecord(decodeRecord(bytes), found, boot);
}

/** The revision that the store opens with; undefined when it refuses. */
function opensAt(verdict: RecordVerdict, revision: number): number | undefined {
  if (verdict.kind !== "whole" && verdict.kind !== "cut-short") return undefined;
  let at = revision;
  for (const entry of verdict.replay) {
    expect(entry).toEqual(entries[at - FROM]); // never another one, never in another order
    at = entry.after;
  }
  return at;
}

const states = Array.from({ length: LAST - FROM + 1 }, (_, index) => FROM + index);

describe("a database and its journal", () => {
  for (const boot of [BOOT, "another boot"]) {
    test(`of ${boot} opens with everything, however much of it the database has`, () => {
      for (const revision of states) {
        expect(opensAt(judge(aRecord(), revision, boot), revision)).toBe(LAST);
      }
    });
  }

  test("a database that lost what it had when the process was killed is healed, with the revisions", () => {
    expect(judge(aRecord(), FROM, BOOT)).toMatchObject({
      healed: { from: FROM + 1, to: FROM + 2 },
    });
    expect(judge(aRecord(), FROM + 2, BOOT)).toMatchObject({ healed: undefined });
    expect(judge(aRecord(), FROM, "another boot")).toMatchObject({ healed: undefined });
  });

  test("a database from before the journal is refused", () => {
    expect(judge(aRecord(), FROM - 1, BOOT)).toMatchObject({ kind: "older", from: FROM, to: LAST });
  });

  test("a database at a revision that the journal never was at is refused", () => {
    const bytes = aRecord();
    const first = { ...entries[0], before: FROM, after: FROM + 2 } as JournalEntry;
    encodeEntry(first).copy(bytes, JOURNAL_AT);
    const second = { ...entries[2], before: FROM + 2 } as JournalEntry;
    encodeEntry(second).copy(bytes, JOURNAL_AT + ENTRY_PAGE_BYTES);
    const found = { totals: { ...mark(FROM + 1) }, identity: 1, schema: 2, firstPage: 0 };
    expect(checkRecord(decodeRecord(bytes), found, BOOT)).toEqual({
      kind: "wrong",
      what: `its journal does not continue from revision ${FROM + 1}`,
    });
  });

  test("other rows at a recorded revision are refused", () => {
    const found = { totals: { ...mark(FROM), digest: 6 }, identity: 1, schema: 2, firstPage: 0 };
    expect(checkRecord(decodeRecord(aRecord()), found, BOOT)).toMatchObject({ kind: "wrong" });
  });

  const lastEntry = JOURNAL_AT + (entries.length - 1) * ENTRY_PAGE_BYTES;
  const lost = [
    { boot: BOOT, verdict: { kind: "older", from: LAST, to: LAST, isAcknowledged: false } },
    { boot: "another boot", verdict: { kind: "cut-short", from: LAST, to: LAST } },
  ];
  for (const { boot, verdict } of lost) {
    test(`a damaged last entry, of ${boot}: ${verdict.kind}`, () => {
      const bytes = aRecord();
      bytes.fill(0, lastEntry, lastEntry + 8);
      expect(judge(bytes, FROM + 2, boot)).toMatchObject(verdict);
    });
  }

  test("a record cut anywhere is refused, even one of which slots are left", () => {
    const bytes = aRecord();
    const used = JOURNAL_AT + (entries.length + 1) * ENTRY_PAGE_BYTES;
    for (let cut = 0; cut < used; cut += 16) {
      const rest = bytes.subarray(0, cut);
      expect(opensAt(judge(rest, FROM + 1, BOOT), FROM + 1)).toBeUndefined();
      // Without all slots the last issued id is unknown, and recovery must skip far ahead.
      expect(decodeRecord(rest).kind).toBe(cut < JOURNAL_AT ? "damaged" : "read");
    }
  });

  test("any flipped bit of a killed process's record: all commits open, or it is refused", () => {
    const bytes = aRecord();
    const outcomes = { refused: 0, whole: 0 };
    const used = JOURNAL_AT + entries.length * ENTRY_PAGE_BYTES;
    for (let at = 0; at < used; at += 1) {
      const start = at - (at % 4096);
      if (at > start && bytes.subarray(at, start + 4096).every((byte) => byte === 0)) {
        at = start + 4095; // no program reads the rest
        continue;
      }
      for (let bit = 0; bit < 8; bit += 1) {
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        const revision = FROM + 1;
        const opened = opensAt(judge(bytes, revision, BOOT), revision);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        if (opened === undefined) outcomes.refused += 1;
        else if (opened === LAST) outcomes.whole += 1;
        else expect({ at, bit, opened }).toEqual({ at, bit, opened: LAST });
      }
    }
    expect(outcomes.refused).toBeGreaterThan(1000); // entries that the database lacks
    expect(outcomes.whole).toBeGreaterThan(1000); // slots, and entries that it has
  });
});
