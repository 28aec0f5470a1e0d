import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { applyEdits } from "../mutants/edit.ts";
import type { EdgeChecker } from "./checkers.ts";
import { EDGE_MUTANTS, type EdgeMutant } from "./edge-mutants.ts";
import type { EdgeTask } from "./edge-worker.ts";
import type { EdgeOutcome } from "./simulate-edges.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const SEEDS = 12;

/** Every name, by type: a new checker does not compile until it is listed here. */
const CHECKERS: Readonly<Record<EdgeChecker, true>> = {
  "shares-add-up": true,
  "one-share-an-edge": true,
  "no-energy-twice": true,
  "done-was-used": true,
  "within-bounds": true,
  "times-are-right": true,
  "every-job-ends": true,
  "indexes-agree-with-rows": true,
  "memory-equals-disk": true,
  "core-stays-sound": true,
};

function taskOf({ caughtBy, edits }: EdgeMutant): EdgeTask {
  const sources = new Map<string, string>();
  for (const [file, own] of Map.groupBy(edits, (edit) => edit.file)) {
    sources.set(file, applyEdits(readFileSync(join(root, file), "utf8"), own));
  }
  const runs = Array.from({ length: SEEDS }, (_, at) => ({
    seed: at + 1,
    edges: 12,
    jobs: 60,
    steps: 120,
  }));
  return { runs, caughtBy, sources };
}

const outcomesOf = (task: EdgeTask): Promise<EdgeOutcome[]> =>
  new Promise((resolve, reject) => {
    const outcomes: EdgeOutcome[] = [];
    // Without the parent's options: a test runner's loader must not change the simulation.
    const worker = new Worker(new URL("edge-worker.ts", import.meta.url), {
      workerData: task,
      execArgv: [],
    });
    worker.on("message", (outcome: EdgeOutcome) => outcomes.push(outcome));
    worker.on("error", reject);
    worker.on("exit", () => resolve(outcomes));
  });

describe("mutants of shares", () => {
  test("every checker has one", () => {
    const tried = new Set(EDGE_MUTANTS.map(({ caughtBy }) => caughtBy));
    expect(Object.keys(CHECKERS).filter((name) => !tried.has(name as EdgeChecker))).toEqual([]);
  });

  for (const mutant of EDGE_MUTANTS) {
    test(`${mutant.name}: ${mutant.what}`, { timeout: 300_000 }, async () => {
      const seen = (await outcomesOf(taskOf(mutant))).map(({ failure }) => failure?.checker);
      expect(seen).toContain(mutant.caughtBy);
    });
  }
});
