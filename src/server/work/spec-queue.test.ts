import * as fc from "fast-check";
import { expect, test } from "vitest";
import { SpecQueue } from "./spec-queue.ts";

/** Sends parts of 10 bytes until nothing is left; returns the items in the order of their ends. */
function drain(queue: SpecQueue<string>, left: Map<string, number>, turnsMax = 10_000): string[] {
  const ended: string[] = [];
  for (let turn = 0; turn < turnsMax; turn++) {
    const item = queue.next();
    if (item === undefined) return ended;
    const rest = Math.max(0, (left.get(item) ?? 0) - 10);
    left.set(item, rest);
    queue.setLeft(item, rest);
    if (rest > 0) continue;
    queue.remove(item);
    ended.push(item);
  }
  return ended;
}

const queueOf = (sizes: Record<string, number>) => {
  const queue = new SpecQueue<string>();
  const left = new Map(Object.entries(sizes));
  for (const [item, bytes] of left) queue.add(item, bytes);
  return { queue, left };
};

const cases: { name: string; sizes: Record<string, number>; want: string[] }[] = [
  { name: "none", sizes: {}, want: [] },
  { name: "equal ones in their order", sizes: { a: 10, b: 10, c: 10 }, want: ["a", "b", "c"] },
  { name: "small before large", sizes: { a: 200, b: 20, c: 10 }, want: ["c", "b", "a"] },
  { name: "what has begun before what is as large", sizes: { a: 30, b: 30 }, want: ["a", "b"] },
];
for (const { name, sizes, want } of cases) {
  test(`order: ${name}`, () => {
    const { queue, left } = queueOf(sizes);
    expect(drain(queue, left)).toEqual(want);
  });
}

test("a large item ends although small ones keep coming: it has a fourth of the turns", () => {
  const { queue, left } = queueOf({ large: 1_000 });
  let turns = 0;
  while (left.get("large") !== 0) {
    turns += 1;
    queue.add(`small ${turns}`, 10);
    left.set(`small ${turns}`, 10);
    drain(queue, left, 1);
  }
  expect(turns).toBeLessThanOrEqual(4 * 100);
});

test("every item ends, whatever the sizes and removals; the queue retains nothing of it", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ bytes: fc.nat(500), isRemoved: fc.boolean() }), { maxLength: 60 }),
      (items) => {
        const queue = new SpecQueue<string>();
        const left = new Map<string, number>();
        for (const [at, { bytes }] of items.entries()) {
          queue.add(String(at), bytes);
          left.set(String(at), bytes);
        }
        drain(queue, left, 5);
        for (const [at, { isRemoved }] of items.entries()) if (isRemoved) queue.remove(String(at));
        drain(queue, left);
        expect(queue.size).toBe(0);
        for (const [at, { isRemoved }] of items.entries()) {
          if (!isRemoved) expect(left.get(String(at))).toBe(0);
        }
      },
    ),
  );
});
