import * as fc from "fast-check";
import { expect, test } from "vitest";
import { OrderedTree } from "./ordered-tree.ts";

interface Item {
  readonly at: number;
  readonly amounts: readonly number[];
}

const before = (a: Item, b: Item): boolean => a.at < b.at;
const amountsOf = ({ amounts }: Item): readonly number[] => amounts;
const fitsIn = (within: readonly number[]) => (item: Item) =>
  item.amounts.every((amount, dim) => amount <= (within[dim] ?? 0));

const amount = fc.integer({ min: 0, max: 6 });
const step = fc.record({
  at: fc.integer({ min: 0, max: 40 }),
  amounts: fc.tuple(amount, amount),
  within: fc.tuple(amount, amount),
});

test("finds the same item as a search through a sorted list, after any insertions and removals", () => {
  const property = fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
    const tree = new OrderedTree<Item>({ before, amountsOf });
    const items = new Map<number, Item>();
    for (const { at, amounts, within } of steps) {
      const known = items.get(at);
      if (known === undefined) {
        const item = { at, amounts };
        items.set(at, item);
        tree.insert(item);
      } else {
        items.delete(at);
        tree.remove(known);
      }
      const sorted = [...items.values()].sort((a, b) => a.at - b.at);
      expect([...tree]).toEqual(sorted);
      expect(tree.size).toBe(sorted.length);
      expect(tree.min).toBe(sorted[0]);
      expect(tree.first(within, () => true)).toBe(sorted.find(fitsIn(within)));
      const isEven = (item: Item): boolean => item.at % 2 === 0;
      expect(tree.first(within, isEven)).toBe(
        sorted.filter((item) => isEven(item)).find(fitsIn(within)),
      );
    }
  });
  fc.assert(property, { numRuns: 300 });
});

test("a change and a search visit few of many items, even when all items before the match are too large", () => {
  const work = { treeSteps: 0 };
  const tree = new OrderedTree<Item>({ before, amountsOf }, work);
  const items = Array.from({ length: 20_000 }, (_, at) => ({
    at,
    amounts: [at < 15_000 ? 9 : 1],
  }));
  for (const item of items) tree.insert(item);
  work.treeSteps = 0;
  expect(tree.first([1], () => true)).toBe(items[15_000]);
  expect(tree.first([0], () => true)).toBeUndefined();
  const moved = items[777] as Item;
  tree.remove(moved);
  tree.insert(moved);
  expect(work.treeSteps).toBeLessThan(200);
});
