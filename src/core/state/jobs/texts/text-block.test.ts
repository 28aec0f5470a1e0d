import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TextBlock } from "./text-block.ts";

const SIZE = 64;
const KIB = 1_024;

/** Texts with common prefixes and suffixes, and some long ones: a page holds 128 KiB. */
const texts = fc.oneof(
  fc
    .tuple(
      fc.string({ unit: "binary", maxLength: 3 }),
      fc.constantFrom("", "😀", "😁", "\u{1fa00}", "a"),
    )
    .map(([middle, mark]) => `{"name":"${mark}${middle}${mark}","by":"${mark}"}`),
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 4 }),
  fc.integer({ min: 1, max: 70 * KIB }).map((length) => "ü".repeat(length)),
  fc.integer({ min: 1, max: 70 * KIB }).map((length) => "x".repeat(length)),
);

describe("texts in pages", () => {
  test("equal a map under any sequence of puts and removals", () => {
    const steps = fc.array(
      fc.oneof(
        { weight: 3, arbitrary: fc.record({ put: fc.nat(SIZE - 1), text: texts }) },
        { weight: 2, arbitrary: fc.record({ remove: fc.nat(SIZE - 1) }) },
      ),
      { maxLength: 100, size: "max" },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const block = new TextBlock(SIZE);
        const wanted = new Map<number, string>();
        for (const step of all) {
          if ("remove" in step) {
            block.remove(step.remove);
            wanted.delete(step.remove);
          } else {
            block.remove(step.put);
            block.put(step.put, step.text);
            wanted.set(step.put, step.text);
          }
        }
        for (let at = 0; at < SIZE; at++) expect(block.get(at)).toBe(wanted.get(at));
      }),
      { numRuns: 300 },
    );
  });

  test("shorter than the prefix and suffix of their neighbours are unchanged", () => {
    const block = new TextBlock(SIZE);
    const all = ["abcba", "abxba", "a", "ab", "aba", "abba", "", "abcba"];
    for (const [at, text] of all.entries()) block.put(at, text);
    expect(all.map((_, at) => block.get(at))).toEqual(all);
  });

  test("that differ in a few characters take little more space than these characters", () => {
    const block = new TextBlock(10_000);
    for (let at = 0; at < 10_000; at++) block.put(at, `{"a":"${"x".repeat(200)}","id":${at}}`);
    expect(block.pageCount).toBe(1);
    expect(block.get(9_999)).toContain("9999");
  });

  test("leave no page behind when they are removed, in any order", () => {
    const block = new TextBlock(4_096);
    const text = (at: number): string => `${at}${"y".repeat(500)}${at}`; // no common parts
    for (let at = 0; at < 4_096; at++) block.put(at, text(at));
    expect(block.pageCount).toBeGreaterThan(10);
    for (let at = 0; at < 4_096; at++) if (at % 16 !== 0) block.remove((at * 7) % 4_096);
    expect(block.pageCount).toBeLessThanOrEqual(4); // of which at least a quarter is in use
    for (let at = 0; at < 4_096; at += 16) expect(block.get((at * 7) % 4_096)).toBeDefined();
  });
});
