import { beforeAll, describe, expect, test } from "vitest";
import { seedsFrom, simulateSeeds } from "./seeds.ts";
import type { Outcome } from "./simulation.ts";
import { simulate } from "./simulation.ts";
import { runs } from "../../src/testing/runs.ts";

/** By count, not by time: the same seeds on every machine. `npm run sim` runs any number. */
const SEEDS = runs(60);

async function outcomes(from: number, count: number): Promise<Outcome[]> {
  const all: Outcome[] = [];
  await simulateSeeds({ seeds: seedsFrom(from, count), workers: 2 }, (outcome) =>
    all.push(outcome),
  );
  return all.sort((a, b) => a.seed - b.seed);
}

describe("simulation", () => {
  let all: readonly Outcome[];
  beforeAll(async () => {
    all = await outcomes(1, SEEDS);
  }, 240_000);

  test(`${SEEDS} seeds keep every promise`, () => {
    const failed = all.flatMap(({ seed, failure }) =>
      failure === undefined
        ? []
        : [
            `${failure.message}\n${failure.last.join("\n")}\nnpm run sim -- --seed ${seed} --verbose`,
          ],
    );
    expect(failed.join("\n\n")).toBe("");
    expect(all).toHaveLength(SEEDS);
  });

  test("a seed is a whole world: the same one gives the same trace, byte for byte", async () => {
    const seeds = [7, 8, 9];
    const apart = await outcomes(7, seeds.length);
    const lines: string[][] = [];
    for (const seed of seeds) {
      for (let turn = 0; turn < 2; turn++) {
        const printed: string[] = [];
        const again = await simulate({ seed, print: (line) => printed.push(line) });
        expect(again).toEqual(apart.find((one) => one.seed === seed));
        lines.push(printed);
      }
    }
    expect(lines[0]).toEqual(lines[1]);
    expect(new Set(apart.map(({ hash }) => hash)).size).toBe(seeds.length);
  });

  test("worlds are busy: servers restart, tasks run, time passes", () => {
    const sum = (name: "executions" | "restarts" | "commits" | "virtualMs"): number =>
      all.reduce((total, outcome) => total + outcome[name], 0);
    expect(sum("executions")).toBeGreaterThan(SEEDS * 10);
    expect(sum("restarts")).toBeGreaterThan(SEEDS);
    expect(sum("commits")).toBeGreaterThan(SEEDS * 50);
    expect(sum("virtualMs")).toBeGreaterThan(SEEDS * 300_000);
  });
});
