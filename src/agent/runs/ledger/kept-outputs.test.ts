import * as fc from "fast-check";
import { expect, test } from "vitest";

import { type KeptOutput, KeptOutputs } from "./kept-outputs.ts";

const BOUNDS = { runsMax: 5, bytesMax: 100, ageMsMax: 50 };

/** The same with nothing but a map. */
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

test("the oldest go first, also after others were removed or kept again", () => {
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

test("what is no longer kept does not pile up", () => {
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
