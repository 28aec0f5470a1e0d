import { describe, expect, test } from "vitest";
import type { CheckerName } from "./checkers.ts";
import { MUTANTS } from "./mutants.ts";
import { simulateSeeds } from "./seeds.ts";

const SEEDS_MAX = 400;

/** Every name, by type: a new checker does not compile until it stands here. */
const CHECKERS: Readonly<Record<CheckerName, true>> = {
  "acknowledged-jobs-exist": true,
  "one-job-per-key": true,
  "ended-stays-ended": true,
  "every-task-ends": true,
  "acknowledged-ends-stay": true,
  "one-execution-per-attempt": true,
  "no-overcommit": true,
  "old-attempts-are-stopped": true,
  "indexes-agree-with-rows": true,
  "memory-equals-disk": true,
  "watch-has-no-gaps": true,
  "watched-view-agrees": true,
  "durable-before-told": true,
  "server-stays-sound": true,
  "dependents-wait": true,
  "skips-are-due": true,
  "fates-are-written": true,
  "placed-as-asked": true,
  "whole-nodes-are-alone": true,
  "one-taker-each": true,
  "handed-ends-were-told": true,
  "offered-as-asked": true,
  "offers-have-clusters": true,
  "counters-go-down": true,
};

/** The first seed in which the named checker fails; undefined when the mutant lives. */
async function caughtAt(mutant: (typeof MUTANTS)[number]): Promise<number | undefined> {
  let caught: number | undefined;
  const range = { from: 1, count: SEEDS_MAX, workers: 1, mutant: mutant.name };
  await simulateSeeds(range, ({ seed, failure }) => {
    if (failure?.checker === mutant.caughtBy) caught ??= seed;
  });
  return caught;
}

describe.concurrent("mutations", () => {
  test("every checker has a mutant", () => {
    const tried = new Set(MUTANTS.map(({ caughtBy }) => caughtBy));
    expect(Object.keys(CHECKERS).filter((name) => !tried.has(name as CheckerName))).toEqual([]);
  });

  for (const mutant of MUTANTS) {
    const name = `${mutant.what}: ${mutant.caughtBy}`;
    test(name, { timeout: 600_000 }, async () => {
      expect(await caughtAt(mutant), `${mutant.name} lives`).toBeLessThanOrEqual(SEEDS_MAX);
    });
  }
});
