import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { decodeSlot, encodeSlot, SLOT_BYTES, type RecordState } from "./record-slot.ts";

const mark = (revision: number) => ({ revision, rows: 4, digest: 5 });

const state: RecordState = {
  identity: 1,
  sequence: 2,
  durable: 6,
  intended: 7,
  marks: [mark(3), mark(6)],
  pass: { number: 8, from: 3 },
  lastId: 9,
  atMs: 10,
  boot: "b",
  schema: 2,
  firstPage: 11,
};

test("a slot comes back as it was written, also with the largest numbers", () => {
  const most = Number.MAX_SAFE_INTEGER;
  const largest = { revision: most, rows: most, digest: 2 ** 32 - 1 };
  const full: RecordState = {
    identity: 2 ** 47,
    sequence: most,
    durable: most,
    intended: most,
    marks: [largest, largest],
    pass: { number: 2 ** 47, from: most },
    lastId: most,
    atMs: most,
    boot: "x".repeat(36),
    schema: 1000,
    firstPage: 2 ** 32 - 1,
  };
  for (const one of [state, full, { ...state, pass: undefined, firstPage: undefined }]) {
    expect(decodeSlot(encodeSlot(one))).toEqual(one);
  }
});

test("any flipped bit makes a slot unreadable", () => {
  const slot = encodeSlot(state);
  for (let bit = 0; bit < 8 * SLOT_BYTES; bit += 1) {
    const bytes = Buffer.from(slot);
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(decodeSlot(bytes)).toBeUndefined();
  }
  expect(decodeSlot(Buffer.alloc(SLOT_BYTES))).toBe("empty");
});

test("a slot of the version without a journal has the marks of the last commit and of the one under way", () => {
  const line = '["busbar-record-1",1,2,[6,4,5],[7,4,5],9,10,"b",2,null]';
  const slot = Buffer.alloc(SLOT_BYTES);
  slot.write(`${crc32(line).toString(16).padStart(8, "0")} ${line}\n`);
  const marks = [mark(6), mark(7)];
  expect(decodeSlot(slot)).toEqual({ ...state, marks, pass: undefined, firstPage: undefined });
});
