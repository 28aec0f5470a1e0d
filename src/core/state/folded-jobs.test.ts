import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jobId } from "../model/ids.ts";
import type { Lane } from "../scheduler/lane.ts";
import { FoldedJobs } from "./folded-jobs.ts";

const aLane = {} as Lane;
const IDS_PER_BLOCK = 4;

describe("folded jobs", () => {
  test("are what a map would hold, whatever comes and goes", () => {
    const steps = fc.array(
      fc.oneof(
        {
          weight: 3,
          arbitrary: fc.record({ skip: fc.nat(3), text: fc.string({ unit: "binary" }) }),
        },
        fc.record({ remove: fc.nat(30) }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const folded = new FoldedJobs(IDS_PER_BLOCK);
        const wanted = new Map<number, string>();
        let last = 0;
        for (const step of all) {
          if ("text" in step) {
            last += 1 + step.skip;
            folded.add(jobId(last), step.text, aLane);
            wanted.set(last, step.text);
          } else {
            folded.delete(jobId(step.remove));
            wanted.delete(step.remove);
          }
          expect(folded.size).toBe(wanted.size);
          for (let id = 0; id <= last + 1; id++) {
            const isThere = wanted.has(id);
            expect(folded.laneOf(jobId(id))).toBe(isThere ? aLane : undefined);
            if (isThere) expect(folded.textOf(jobId(id))).toBe(wanted.get(id));
          }
        }
      }),
    );
  });

  test("come in the order of their ids", () => {
    const folded = new FoldedJobs(IDS_PER_BLOCK);
    folded.add(jobId(9), "nine", aLane);
    expect(() => folded.add(jobId(3), "three", aLane)).toThrow(/after younger ones/);
  });
});
