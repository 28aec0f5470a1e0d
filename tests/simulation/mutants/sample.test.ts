import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { catchMutant, notedSeeds } from "./catch.ts";
import { MUTANTS } from "./mutants.ts";

/** Each commit tries others: in a dozen commits every mutant has had its turn. */
const SAMPLE = 6;
const chosen = Array.from(
  { length: SAMPLE },
  (_none, at) => MUTANTS[(commitNumber() * SAMPLE + at) % MUTANTS.length],
).filter((mutant) => mutant !== undefined);

/** `npm run mutants` tries all. */
describe.concurrent(`of ${MUTANTS.length} mutants the ${SAMPLE} of this commit are caught`, () => {
  for (const mutant of chosen) {
    test(`${mutant.name}: ${mutant.what}`, { timeout: 600_000 }, async () => {
      const seed = await catchMutant(mutant, notedSeeds()[mutant.name]);
      expect(seed, `${mutant.caughtBy} does not see ${mutant.name}`).toBeDefined();
    });
  }
});

/** How many commits there are; 0 outside a repository. */
function commitNumber(): number {
  try {
    const options = { encoding: "utf8", stdio: "pipe" } as const;
    return Number(execFileSync("git", ["rev-list", "--count", "HEAD"], options));
  } catch {
    return 0;
  }
}
