import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { FLAGS } from "./count-steps.ts";
import { hostileYaml } from "./hostile-yaml.ts";

const FEW = 500;
const MANY = 2_000;
/** Four times the text takes four times the steps, and a little because numbers get longer. */
const GROWTH_MAX = 4.6;

describe("reading YAML takes steps in proportion to the length of the text", () => {
  const main = fileURLToPath(new URL("count-main.ts", import.meta.url));
  const args = [...FLAGS, main, String(FEW), String(MANY)];
  const steps = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as Readonly<
    Record<string, readonly [number, number]>
  >;
  for (const name of Object.keys(hostileYaml)) {
    test(name, () => {
      const [few, many] = steps[name] ?? [0, Infinity];
      expect(few).toBeGreaterThan(100);
      expect(many / few).toBeLessThan(GROWTH_MAX);
    });
  }
});
