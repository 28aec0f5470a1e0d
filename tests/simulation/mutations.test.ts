import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import type { CheckerName } from "./checkers.ts";
import type { Mutant } from "./mutants.ts";
import { MUTANTS } from "./mutants.ts";
import { seedsFrom, simulateSeeds } from "./seeds.ts";

const SEEDS_MAX = 400;
const UPDATE = "UPDATE_SEEDS=1 npx vitest run tests/simulation/mutations.test.ts notes them";

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
  "sick-nodes-cost-nothing": true,
  "quarantines-are-due": true,
  "losses-follow-policy": true,
  "held-is-begun-or-back": true,
};

/** `UPDATE_SEEDS=1` searches for every mutant from seed 1 and writes the file again. */
const isUpdate = process.env["UPDATE_SEEDS"] === "1";
const NOTES = new URL("caught-at.json", import.meta.url);
/** The seed that caught each mutant last. Seeds change with every draw: a note is where to begin. */
const noted = JSON.parse(readFileSync(NOTES, "utf8")) as Readonly<Record<string, number>>;
const seedOf = new Map<string, number>();

/** The noted seed if it catches the mutant, else the first from 1; undefined when the mutant lives. */
async function caughtAt({ name, caughtBy }: Mutant): Promise<number | undefined> {
  let caught: number | undefined;
  const first = isUpdate ? [] : [noted[name] ?? []].flat();
  const seeds = [...first, ...seedsFrom(1, SEEDS_MAX)];
  await simulateSeeds({ seeds, workers: 1, mutant: name }, ({ seed, failure }) => {
    if (failure?.checker === caughtBy) caught ??= seed;
  });
  return caught;
}

afterAll(() => {
  const all = MUTANTS.flatMap(({ name }) => {
    const seed = seedOf.get(name);
    return seed === undefined ? [] : [[name, seed] as const];
  });
  if (isUpdate) writeFileSync(NOTES, `${JSON.stringify(Object.fromEntries(all), undefined, 2)}\n`);
  const moved = all.filter(([name, seed]) => noted[name] !== seed);
  if (isUpdate || moved.length === 0) return;
  const what = moved.map(([name, seed]) => `${name} ${noted[name]} -> ${seed}`).join(", ");
  process.stderr.write(`mutants caught at other seeds than noted: ${what}; ${UPDATE}\n`);
});

describe.concurrent("mutations", () => {
  test("every checker has a mutant", () => {
    const tried = new Set(MUTANTS.map(({ caughtBy }) => caughtBy));
    expect(Object.keys(CHECKERS).filter((name) => !tried.has(name as CheckerName))).toEqual([]);
  });

  test("only mutants have notes", () => {
    const names = new Set(MUTANTS.map(({ name }) => name));
    expect(Object.keys(noted).filter((name) => !names.has(name))).toEqual([]);
  });

  for (const mutant of MUTANTS) {
    const name = `${mutant.what}: ${mutant.caughtBy}`;
    test(name, { timeout: 600_000 }, async () => {
      const seed = await caughtAt(mutant);
      expect(seed, `${mutant.name} lives`).toBeDefined();
      if (seed !== undefined) seedOf.set(mutant.name, seed);
    });
  }
});
