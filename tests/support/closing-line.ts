import { writeSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Counts tests by outcome. A file that could not be loaded, a hook or anything else that failed outside of tests counts as one failed test
 * each, so that "0 failed" means success.
 */
function countTests(modules: readonly TestModule[], errorsOutside: number): Counts {
  const counts: Counts = { passed: 0, failed: errorsOutside, skipped: 0 };
  for (const module of modules) {
    const failedBefore = counts.failed;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      counts[state === "pending" ? "failed" : state] += 1; // pending: interrupted before it ended
    }
    if (!module.ok() && counts.failed === failedBefore) counts.failed += 1;
  }
  return counts;
}

/**
 * Tests that failed, were retried once, and passed. They do not fail a run, and the end of the run names them with their first failure:
 * each is a race, in the test or in the tested code.
 */
function findUnsteady(modules: readonly TestModule[]): readonly string[] {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  return tests
    .filter((test) => test.diagnostic()?.flaky === true)
    .map(
      (test) =>
        `UNSTEADY (failed, then passed): ${test.module.relativeModuleId} > ${test.fullName}\n  ${firstLine(test.result().errors?.[0]?.message)}`,
    );
}

const firstLine = (text: string | undefined): string => text?.split("\n")[0] ?? "no reason given";

/**
 * Prints `N passed, N failed, N skipped` alone on the last line of the output, for CI. Other reporters and teardowns still print when a run
 * has ended, so it waits for the exit.
 */
export class ClosingLine implements Reporter {
  #counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  #unsteady: readonly string[] = [];

  onInit(): void {
    process.once("exit", (code) => {
      const { passed, failed, skipped } = this.#counts;
      const failedAtLeast = code === 0 ? 0 : 1; // no test was found, or vitest itself failed
      const shown = Math.max(failed, failedAtLeast);
      for (const line of this.#unsteady) writeSync(1, `${line}\n`);
      writeSync(1, `${passed} passed, ${shown} failed, ${skipped} skipped\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    this.#counts = countTests(modules, errors.length);
    this.#unsteady = findUnsteady(modules);
  }
}
