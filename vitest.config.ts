import { defineConfig } from "vitest/config";
import { ClosingLine } from "./tests/support/closing-line.ts";

// Three projects. Pure tests share one process for each processor (unit: `npm run test:unit`). So do tests
// of real disks, shells and launchers (contract). Tests of whole servers and agents get a file each and
// more time (e2e). `npm test` runs all three.
const CONTRACT = [
  "tests/contract/executor/**/*.test.ts",
  "tests/contract/store/sqlite*.test.ts",
  "tests/simulation/mutants/sample.test.ts",
  "tests/simulation/edges/edge-mutants.test.ts",
  "src/agent/lower/wrapper/wrapper*.test.ts",
  "src/cli/process.test.ts",
];
const UNIT = ["src/**/*.test.ts", "tests/{tidy,scenarios,contract,simulation}/**/*.test.ts"];
const shared = {
  isolate: false,
  maxWorkers: "100%", // the default leaves one processor idle: half of a machine with two
  testTimeout: 90_000, // above what `eventually` waits for: machines with other work are slow
};

export default defineConfig({
  test: {
    reporters: ["default", new ClosingLine()],
    projects: [
      { test: { name: "unit", include: UNIT, exclude: CONTRACT, ...shared } },
      { test: { name: "contract", include: CONTRACT, ...shared } },
      {
        test: {
          name: "e2e",
          include: ["tests/{e2e,crash,soak,conformance}/**/*.test.ts"],
          globalSetup: ["tests/support/prepare.ts"],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          retry: 1, // such tests are named at the end of the run: tests/support/closing-line.ts
          maxWorkers: 2,
          sequence: { groupOrder: 1 }, // vitest wants this where maxWorkers differ
        },
      },
    ],
  },
});
