import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Histogram } from "./histogram.ts";

test("a time is in the first bucket whose bound it does not exceed", () => {
  const histogram = new Histogram([1, 10]);
  for (const ms of [0, 1, 1.5, 10, 11, Infinity]) histogram.observe(ms);
  expect([...histogram.counts]).toEqual([2, 2, 2]);
});

test("a time below zero counts as none", () => {
  const histogram = new Histogram([1]);
  histogram.observe(-5);
  histogram.observe(3);
  expect([[...histogram.counts], histogram.sumMs]).toEqual([[1, 1], 3]);
});

test("buckets and sum are those of a list of all times", () => {
  const bounds = fc.uniqueArray(fc.integer({ min: 1, max: 1_000 }), { minLength: 1 });
  fc.assert(
    fc.property(bounds, fc.array(fc.nat(2_000)), (unsorted, times) => {
      const boundsMs = unsorted.toSorted((a, b) => a - b);
      const histogram = new Histogram(boundsMs);
      for (const ms of times) histogram.observe(ms);
      const upTo = (bound: number): number => times.filter((ms) => ms <= bound).length;
      let seen = 0;
      const cumulated = Array.from(histogram.counts, (count) => (seen += count));
      expect(cumulated).toEqual([...boundsMs.map(upTo), times.length]);
      expect(histogram.sumMs).toBe(times.reduce((sum, ms) => sum + ms, 0));
    }),
  );
});
