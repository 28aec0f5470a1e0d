import * as fc from "fast-check";
import { expect, test } from "vitest";
import { limits } from "../../../../limits.ts";
import {
  AttachFrameReader,
  encodeOpen,
  encodePart,
  encodeSeen,
  encodeSize,
} from "./attach-frames.ts";

test("frames have the bytes that attach.c reads", () => {
  const hex = (bytes: Buffer): string => bytes.toString("hex");
  expect(hex(encodeOpen(258, { rows: 24, columns: 80 }))).toBe(
    "4f0000000c000000000000010200180050",
  );
  expect(hex(encodeOpen(0))).toBe("4f0000000c000000000000000000000000");
  expect(hex(encodeSize({ rows: 1, columns: 70_000 }))).toBe("57000000040001ffff");
  expect(hex(encodeSeen(2 ** 40))).toBe("41000000080000010000000000");
  const data = Buffer.from("hi");
  expect(hex(encodePart({ offset: 1, data, end: true }))).toBe(
    "440000000a0000000000000001686945000000080000000000000003",
  );
  expect(hex(encodePart({ offset: 3, data: Buffer.alloc(0), end: true }))).toBe(
    "45000000080000000000000003",
  );
});

test("property: frames can be read in pieces of any size", () => {
  const part = fc.record({
    offset: fc.nat(2 ** 30),
    data: fc.uint8Array({ minLength: 1, maxLength: 300 }),
    end: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(part), fc.integer({ min: 1, max: 40 }), (parts, size) => {
      const bytes = Buffer.concat(parts.map(encodePart));
      const reader = new AttachFrameReader();
      const found = [];
      for (let at = 0; at < bytes.length; at += size) {
        found.push(...reader.read(bytes.subarray(at, at + size)));
      }
      const wanted = parts.flatMap(({ offset, data, end }) => [
        { kind: "part", part: { offset, data: Buffer.from(data), end: false } },
        ...(end
          ? [{ kind: "part", part: { offset: offset + data.length, data: Buffer.alloc(0), end } }]
          : []),
      ]);
      expect(found.map((one) => JSON.stringify(one))).toEqual(
        wanted.map((one) => JSON.stringify(one).replace('{"type":"Buffer","data":[]}', "{}")),
      );
    }),
  );
});

test.each([
  ["a letter that nobody says", "58000000080000000000000000"],
  ["no room for an offset", "440000000700000000000000"],
  ["more than a part", `44${(limits.attachPartBytesMax + 9).toString(16).padStart(8, "0")}`],
])("%s is rejected", (_, hex) => {
  expect(() => new AttachFrameReader().read(Buffer.from(hex, "hex"))).toThrow("a frame");
});
