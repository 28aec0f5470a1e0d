import * as fc from "fast-check";
import { expect, test } from "vitest";
import { SmallSet } from "./small-set.ts";

test("behaves like a Set, in the same order, however many items it has", () => {
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant("add"), item: fc.nat(30) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("delete"), item: fc.nat(30) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("first"), item: fc.nat(30) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear"), item: fc.constant(0) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const small = new SmallSet<number>();
      const set = new Set<number>();
      for (const { kind, item } of steps) {
        if (kind === "add") small.add(item);
        else if (kind === "delete") small.delete(item);
        else if (kind === "clear") small.clear();
        else small.deleteFirst(item);
        if (kind === "add") set.add(item);
        else if (kind === "delete") set.delete(item);
        else if (kind === "clear") set.clear();
        else for (const each of [...set].slice(0, item)) set.delete(each);
        expect([...small.items]).toEqual([...set]);
        expect([small.size, small.first, small.has(item)]).toEqual([
          set.size,
          [...set][0],
          set.has(item),
        ]);
      }
    }),
  );
});
