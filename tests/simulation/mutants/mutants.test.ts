import { describe, expect, test } from "vitest";
import type { CheckerName } from "../checkers.ts";
import { faultOf, notedSeeds } from "./catch.ts";
import { MUTANTS } from "./mutants.ts";

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
  "accepted-ends-were-reported": true,
  "offered-as-asked": true,
  "offers-have-clusters": true,
  "counters-go-down": true,
  "sick-nodes-cost-nothing": true,
  "quarantines-are-due": true,
  "losses-follow-policy": true,
  "held-is-begun-or-back": true,
  "progress-goes-forward": true,
  "ends-say-how-far": true,
  "holds-are-kept": true,
  "paused-groups-place-nothing": true,
  "requeued-is-stopped-first": true,
  "one-job-per-slot": true,
  "wanted-instances-run": true,
};

describe("mutants", () => {
  test("every checker has one", () => {
    const tried = new Set(MUTANTS.map(({ caughtBy }) => caughtBy));
    expect(Object.keys(CHECKERS).filter((name) => !tried.has(name as CheckerName))).toEqual([]);
  });

  test("have names of their own, and only they have notes", () => {
    const names = new Set(MUTANTS.map(({ name }) => name));
    expect(names.size).toBe(MUTANTS.length);
    expect(Object.keys(notedSeeds()).filter((name) => !names.has(name))).toEqual([]);
  });

  test("find their places exactly once in the modules as they are", () => {
    const lost = MUTANTS.flatMap((mutant) => {
      try {
        faultOf(mutant);
        return [];
      } catch (error) {
        return [`${mutant.name}: ${((error as Error).cause as Error).message}`];
      }
    });
    expect(lost).toEqual([]);
  });
});
