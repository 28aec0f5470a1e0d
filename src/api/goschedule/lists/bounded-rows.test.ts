import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type BoundedRow, BoundedRows } from "./bounded-rows.ts";

interface Row extends BoundedRow {
  readonly at: number;
}

const someRows = fc
  .array(fc.record({ sizeBytes: fc.integer({ min: 1, max: 9 }), isOver: fc.boolean() }), {
    maxLength: 40,
  })
  .map((rows) => rows.map((row, at): Row => ({ ...row, at })));
const sizeOf = (rows: readonly Row[]): number => rows.reduce((sum, row) => sum + row.sizeBytes, 0);

/** Removes rows one by one, in the specified order, until the rest fits. */
function slowly(rows: readonly Row[], bytesMax: number): readonly Row[] {
  let kept = rows;
  while (sizeOf(kept) > bytesMax) {
    const victim = kept.findLast(({ isOver }) => isOver) ?? kept.at(-1);
    kept = kept.filter((row) => row !== victim);
  }
  return kept;
}

test("the remaining rows fit, and only the last ended rows were dropped, or all of those", () => {
  fc.assert(
    fc.property(someRows, fc.integer({ min: 0, max: 120 }), (given, bytesMax) => {
      const rows = new BoundedRows<Row>(bytesMax);
      for (const row of given) rows.add(row);
      const kept = rows.finish();
      expect(sizeOf(kept)).toBeLessThanOrEqual(bytesMax);
      expect(kept).toEqual(slowly(given, bytesMax));
    }),
  );
});

test("the result is the same when the caller asks first whether more rows are needed", () => {
  fc.assert(
    fc.property(someRows, fc.integer({ min: 0, max: 120 }), (given, bytesMax) => {
      const all = new BoundedRows<Row>(bytesMax);
      const some = new BoundedRows<Row>(bytesMax);
      for (const row of given) {
        all.add(row);
        if (some.isFull || (row.isOver && !some.hasRoomForOver)) continue;
        some.add(row);
      }
      expect(some.finish()).toEqual(all.finish());
    }),
  );
});
