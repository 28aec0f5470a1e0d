import { defineConfig } from "vitest/config";
import { ClosingLine } from "./tests/support/closing-line.ts";

// Four projects. Pure tests share one process for each processor (unit: `npm run test:unit`). So do tests of real
// disks (disks), and of real shells and launchers (contract). Tests of whole servers and agents get a file each and
// more time (e2e). `npm test` runs all four. Where other processes decide the order of events, a test gets a second
// try, and is named at the end of the run: tests/support/closing-line.ts.
const DISKS = [
  "tests/contract/store/sqlite*.test.ts",
  "tests/simulation/mutants/sample.test.ts",
  "tests/simulation/edges/edge-mutants.test.ts",
];
const CONTRACT = [
  "tests/contract/executor/**/*.test.ts",
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
      { test: { name: "unit", include: UNIT, exclude: [...DISKS, ...CONTRACT], ...shared } },
      { test: { name: "disks", include: DISKS, ...shared } },
      { test: { name: "contract", include: CONTRACT, retry: 1, ...shared } },
      {
        test: {
          name: "e2e",
          include: ["tests/{e2e,crash,soak,conformance}/**/*.test.ts"],
          globalSetup: ["tests/support/prepare.ts"],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          retry: 1,
          maxWorkers: 2,
          sequence: { groupOrder: 1 }, // vitest wants this where maxWorkers differ
        },
      },
    ],
  },
});
