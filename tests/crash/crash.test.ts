import { expect, test } from "vitest";
import { runCrash } from "./crash.ts";

const print = (line: string): void => void process.stderr.write(`${line}\n`);
const quiet = (line: string): void => {
  if (!line.startsWith("round ")) print(line);
};

// Bounded by rounds, not by time. The seeds are fixed so that a red run can be repeated; other
// seeds are for `npm run crash`.
const worlds = [
  { name: "no attempt is made twice or lost", rounds: 50, seed: 20_261, nodesMayBeLost: false },
  { name: "lost nodes' tasks run again", rounds: 20, seed: 20_262, nodesMayBeLost: true },
];

for (const { name, rounds, seed, nodesMayBeLost } of worlds) {
  const options = { timeout: 900_000, retry: 0 }; // no retry: these rounds find rare faults
  test(`${rounds} rounds of kill -9 under load: ${name}`, options, async () => {
    const report = await runCrash({ rounds, seed, nodesMayBeLost, print: quiet });
    expect(report.problems).toEqual([]);
    // Otherwise it has proved nothing.
    expect(report.rounds).toBe(rounds);
    expect(report.tasks).toBeGreaterThan(5 * rounds);
    expect(report.seenEnded).toBeGreaterThan(report.tasks / 4);
    if (nodesMayBeLost) expect(report.losses).toBeGreaterThan(0);
  });
}
