import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { FLAGS } from "./count-steps.ts";
import { runs } from "../../../src/testing/runs.ts";

const RUNS = runs(150);

test(
  "hostile inputs are read or rejected, in steps that their length bounds",
  { timeout: 120_000 },
  () => {
    const main = fileURLToPath(new URL("fuzz-main.ts", import.meta.url));
    const args = [...FLAGS, main, "--runs", String(RUNS), "--seed", "14"];
    const output = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as {
      readonly inputs: number;
      readonly refused: number;
      readonly found: readonly unknown[];
    };
    expect(output.found).toEqual([]);
    expect(output.inputs).toBe(RUNS * 11);
    expect(output.refused).toBeGreaterThan(RUNS); // they are really invalid
  },
);
