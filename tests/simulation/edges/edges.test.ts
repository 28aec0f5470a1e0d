import { describe, expect, test } from "vitest";
import { simulateEdges } from "./simulate-edges.ts";

describe("edges that lose power and links", () => {
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    test(`seed ${seed}: shares add up, nothing is counted twice, every job ends`, () => {
      const { failure, shares } = simulateEdges({ seed, edges: 12, jobs: 60, steps: 120 });
      expect(failure).toBeUndefined();
      expect(shares).toBeGreaterThan(60);
    });
  }

  test("a thousand of them", { timeout: 300_000 }, () => {
    const { failure, shares } = simulateEdges({ seed: 1, edges: 1_000, jobs: 1_000, steps: 25 });
    expect(failure).toBeUndefined();
    expect(shares).toBeGreaterThan(1_500);
  });
});
