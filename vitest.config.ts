import { defineConfig } from "vitest/config";

// Two projects: pure tests share one process (fast); tests with real processes get a file each
// and more time. `npm test` runs both, `npm run test:unit` what needs neither long nor real processes.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "tests/{tidy,scenarios,contract,simulation}/**/*.test.ts"],
          isolate: false,
          maxWorkers: "100%", // the default leaves one processor idle: half of a machine with two
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["tests/{e2e,crash,soak,conformance}/**/*.test.ts"],
          globalSetup: ["tests/support/prepare.ts"],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
          sequence: { groupOrder: 1 }, // vitest wants this where maxWorkers differ
        },
      },
    ],
  },
});
