import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Histogram } from "./histogram.ts";

test("a time is in the first bucket whose bound it does not exceed", () => {
  const histogram = new Histogram([1, 10]);
  for (const ms of [0, 1, 1.5, 10, 11, Infinity]) histogram.observe(ms);
  expect([...histogram.counts]).toEqual([2, 2, 2]);
});

test("a negative time counts as 0", () => {
  const histogram = new Histogram([1]);
  histogram.observe(-5);
  histogram.observe(3);
  expect([[...histogram.counts], histogram.sumMs]).toEqual([[1, 1], 3]);
});

test("a quantile lies within its bucket, by the number of times below it", () => {
  const histogram = new Histogram([1, 2, 10]);
  expect(histogram.quantileMs(0.99)).toBe(0);
  for (let count = 0; count < 98; count++) histogram.observe(0.5);
  histogram.observe(6);
  histogram.observe(6);
  expect(histogram.quantileMs(0.49)).toBe(0.5);
  expect(histogram.quantileMs(0.98)).toBe(1);
  expect(histogram.quantileMs(0.99)).toBe(6);
  expect(histogram.quantileMs(1)).toBe(10);
  for (let count = 0; count < 900; count++) histogram.observe(99);
  expect(histogram.quantileMs(0.99)).toBe(10);
});

test("buckets and sum equal those of a list of all times", () => {
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
