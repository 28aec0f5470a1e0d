import * as fc from "fast-check";
import { expect, test } from "vitest";

import { type KeptOutput, KeptOutputs } from "./kept-outputs.ts";

const BOUNDS = { runsMax: 5, bytesMax: 100, ageMsMax: 50 };

/** The same with a plain map. */
class Model {
  readonly outputs = new Map<string, KeptOutput>();

  add(key: string, output: KeptOutput): void {
    this.outputs.delete(key);
    this.outputs.set(key, output);
  }

  takeSurplus(nowMs: number): [string, KeptOutput][] {
    const surplus: [string, KeptOutput][] = [];
    for (const [key, output] of this.outputs) {
      const bytes = Array.from(this.outputs.values()).reduce((sum, one) => sum + one.bytes, 0);
      const isOver = this.outputs.size > BOUNDS.runsMax || bytes > BOUNDS.bytesMax;
      if (nowMs - output.forgottenAtMs < BOUNDS.ageMsMax && !isOver) break;
      this.outputs.delete(key);
      surplus.push([key, output]);
    }
    return surplus;
  }
}

const step = fc.record({
  what: fc.constantFrom("add", "add", "remove", "take"),
  key: fc.integer({ min: 0, max: 9 }).map(String),
  bytes: fc.integer({ min: 0, max: 60 }),
  passedMs: fc.integer({ min: 0, max: 20 }),
});

test("the oldest are removed first, also after others were removed or added again", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const kept = new KeptOutputs(BOUNDS);
      const model = new Model();
      let nowMs = 0;
      for (const { what, key, bytes, passedMs } of steps) {
        nowMs += passedMs;
        const output = { forgottenAtMs: nowMs, bytes, outputLimitBytes: 100 };
        if (what === "add") {
          kept.add(key, output);
          model.add(key, output);
        } else if (what === "remove") {
          expect(kept.remove(key)).toBe(model.outputs.delete(key));
        } else {
          expect(kept.takeSurplus(nowMs)).toEqual(model.takeSurplus(nowMs));
        }
        expect([...kept.entries()]).toEqual([...model.outputs]);
        const [oldest] = model.outputs.values();
        expect(kept.nextSurplusAtMs()).toBe(oldest && oldest.forgottenAtMs + BOUNDS.ageMsMax);
      }
    }),
  );
});

test("records of removed outputs do not accumulate", () => {
  const kept = new KeptOutputs({ ...BOUNDS, runsMax: 2_000, bytesMax: 1e9, ageMsMax: 1e9 });
  let removed = 0;
  for (let at = 0; at < 20_000; at++) {
    kept.add(String(at), { forgottenAtMs: at, bytes: 1, outputLimitBytes: 100 });
    removed += kept.takeSurplus(at).length;
  }
  expect(removed).toBe(18_000);
  expect([...kept.entries()].map(([key]) => Number(key))).toEqual(
    Array.from({ length: 2_000 }, (_, at) => 18_000 + at),
  );
});

const output = (forgottenAtMs: number, bytes: number, failed?: true) => ({
  forgottenAtMs,
  bytes,
  outputLimitBytes: 100,
  failed,
});
const keys = (taken: readonly (readonly [string, unknown])[]): string[] =>
  taken.map(([key]) => key);

test("outputs of failed runs are removed after those of others, and are retained longer", () => {
  const kept = new KeptOutputs({ ...BOUNDS, runsMax: 4 });
  kept.add("bad-1", output(0, 1, true));
  kept.add("bad-2", output(1, 1, true));
  for (const at of [2, 3, 4]) kept.add(`fine-${at}`, output(at, 1));
  expect(keys(kept.takeSurplus(5))).toEqual(["fine-2"]);
  expect(kept.nextSurplusAtMs()).toBe(3 + BOUNDS.ageMsMax);
  expect(keys(kept.takeSurplus(60))).toEqual(["fine-3", "fine-4"]);
  expect(kept.nextSurplusAtMs()).toBe(4 * BOUNDS.ageMsMax);
  expect(keys(kept.takeSurplus(4 * BOUNDS.ageMsMax))).toEqual(["bad-1"]);
});

test("failed runs leave half of the limit to others", () => {
  const kept = new KeptOutputs({ ...BOUNDS, runsMax: 4 });
  for (const at of [0, 1, 2]) kept.add(`bad-${at}`, output(at, 1, true));
  kept.add("fine-3", output(3, 1));
  kept.add("fine-4", output(4, 1));
  expect(keys(kept.takeSurplus(5))).toEqual(["bad-0"]);
  kept.add("large", output(5, 99));
  expect(keys(kept.takeSurplus(6))).toEqual(["fine-3", "fine-4", "large"]);
});

test("the error about a removed output has the time and cause of its removal", () => {
  const kept = new KeptOutputs({ runsMax: 1, bytesMax: 10, ageMsMax: 3_600_000 });
  kept.add("1.0.1", output(0, 1));
  kept.add("2.0.1", output(0, 1));
  kept.takeSurplus(1_000);
  kept.add("2.0.1", output(0, 11));
  kept.takeSurplus(2_000);
  const rule =
    "this node retains output of 1 tasks, 10B, 1h (of failed ones 4 times as long; --keep-output)";
  const at = (ms: number): string => new Date(ms).toISOString();
  expect(kept.whyGone("1.0.1")).toBe(
    `it was removed at ${at(1_000)} for too many outputs: ${rule}`,
  );
  expect(kept.whyGone("2.0.1")).toMatch(/ for outputs too large together: /);
  expect(kept.whyGone("3.0.1")).toBe(`it was removed, or is that of another agent: ${rule}`);
  kept.add("3.0.1", output(0, 1));
  kept.takeSurplus(3_600_000);
  expect(kept.whyGone("3.0.1")).toContain(" for its age: ");
});
