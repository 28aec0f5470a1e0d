import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createCollector, prefixLines, tailLines } from "./output.ts";

test("every line gets the prefix, however the chunks fall", async () => {
  for (const size of [1, 2, 3, 100]) {
    const collected = createCollector(1_000);
    const lines = prefixLines("[3] ", collected.write);
    const bytes = Buffer.from("one\n\ntwö\nlast");
    for (let at = 0; at < bytes.length; at += size)
      await lines.write(bytes.subarray(at, at + size));
    await lines.end();
    expect(collected.text()).toBe("[3] one\n[3] \n[3] twö\n[3] last\n");
  }
});

test("a line without end is not held back for ever", async () => {
  const collected = createCollector(10_000_000);
  const lines = prefixLines("> ", collected.write);
  await lines.write(Buffer.alloc(300_000, "x"));
  expect(collected.text().length).toBeGreaterThan(300_000);
});

test("a collector buffers no more than its limit", async () => {
  const collected = createCollector(4);
  await collected.write(Buffer.from("abc"));
  await collected.write(Buffer.from("def"));
  expect(collected.text()).toBe("abcd");
});

test("a tail is the last lines, however the chunks fall", async () => {
  const chunks = fc.array(fc.stringMatching(/^[ab\n]{0,4}$/), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(chunks, fc.integer({ min: 0, max: 5 }), async (parts, count) => {
      const collected = createCollector(1_000);
      const lines = tailLines(count, collected.write);
      for (const part of parts) await lines.write(Buffer.from(part));
      await lines.end();
      const all = parts.join("").match(/[^\n]*\n|[^\n]+$/g) ?? [];
      expect(collected.text()).toBe(count === 0 ? "" : all.slice(-count).join(""));
    }),
  );
});
