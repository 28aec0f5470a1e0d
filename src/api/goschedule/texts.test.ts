import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPrintable } from "../../core/model/texts.ts";
import { cutText, oneLine, PREVIEW_BYTES, previewOf } from "./texts.ts";

describe("the beginning of an output", () => {
  const cases: readonly [string, Uint8Array, string][] = [
    ["nothing", Buffer.alloc(0), ""],
    ["short", Buffer.from("out\n"), "out"],
    ["two lines", Buffer.from("a\r\nb\tc\n"), "a b c"],
    ["a command to the terminal", Buffer.from("\u001b]0;x\u0007y"), "␛]0;x␇y"],
    ["20 bytes", Buffer.from("12345678901234567890"), "12345678901234567890"],
    ["21 bytes", Buffer.from("123456789012345678901"), "12345678901234567890"],
    ["a character over the cut", Buffer.from(`${"x".repeat(18)}☃tail`), "x".repeat(18)],
    ["one of four bytes over the cut", Buffer.from(`${"x".repeat(17)}😀`), "x".repeat(17)],
    [
      "a character that ends at the cut",
      Buffer.from(`${"x".repeat(17)}☃tail`),
      `${"x".repeat(17)}☃`,
    ],
    ["bytes that are no text", Buffer.from([0x61, 0xff, 0x62]), "a\ufffdb"],
    ["many of them", Buffer.alloc(100, 0xff), "\ufffd".repeat(6)],
  ];
  for (const [name, output, want] of cases) {
    test(name, () => expect(previewOf(output)).toBe(want));
  }

  test("is text of at most 20 bytes, whatever the output", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (output) => {
        const preview = previewOf(output);
        expect(Buffer.byteLength(preview)).toBeLessThanOrEqual(PREVIEW_BYTES);
        expect(isPrintable(preview)).toBe(true);
      }),
    );
  });
});

test("a text is truncated between characters, and stays complete where it fits", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 0, max: 50 }), (text, max) => {
      const cut = cutText(text, max);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max);
      expect(text.startsWith(cut)).toBe(true);
      if (Buffer.byteLength(text) <= max) expect(cut).toBe(text);
      else expect(Buffer.byteLength(cut)).toBeGreaterThan(max - 4);
    }),
  );
});

test("a cell has one line", () => {
  expect(oneLine("\ncould not start:\n\tno such file\n", 100)).toBe(
    "could not start: no such file",
  );
});
