import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { FLAGS } from "./count-steps.ts";
import { hostileGraphql } from "./hostile-graphql.ts";

const FEW = 100;
const MANY = 400;
/** Texts of a megabyte and more: the server must not read them. */
const HUGE = 200_000;
/** Four times the text takes four times the steps, and a little because numbers get longer. */
const GROWTH_MAX = 4.6;
/** A document that is within all limits takes up to two millions: some tens of milliseconds. */
const STEPS_MAX = 2_000_000;

describe("checking GraphQL takes steps in proportion to the document, up to a limit", () => {
  const main = fileURLToPath(new URL("count-graphql-main.ts", import.meta.url));
  const args = [...FLAGS, main, String(FEW), String(MANY), String(HUGE)];
  const steps = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as Readonly<
    Record<string, readonly [number, number, number]>
  >;
  for (const name of Object.keys(hostileGraphql)) {
    test(name, () => {
      const [few, many, huge] = steps[name] ?? [0, Infinity, Infinity];
      expect(few).toBeGreaterThan(50);
      expect(many / few).toBeLessThan(GROWTH_MAX);
      expect(Math.max(many, huge)).toBeLessThan(STEPS_MAX);
    });
  }
});
