import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { groupId, jobId, revision } from "../../model/ids.ts";
import type { Lane } from "../../scheduler/queue/lane.ts";
import { FoldedJobs } from "./folded-jobs.ts";

const aLane = {} as Lane;
const IDS_PER_BLOCK = 4;

describe("folded jobs", () => {
  test("equal a map under any sequence of additions and removals", () => {
    const steps = fc.array(
      fc.oneof(
        {
          weight: 3,
          arbitrary: fc.record({ skip: fc.nat(3), text: fc.string({ unit: "binary" }) }),
        },
        fc.record({ remove: fc.nat(30) }),
        fc.record({ isLoading: fc.boolean() }),
        fc.record({ again: fc.nat(30), ended: fc.string({ unit: "binary" }) }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const folded = new FoldedJobs(IDS_PER_BLOCK);
        const wanted = new Map<number, string>();
        const ended = new Set<number>();
        let last = 0;
        for (const step of all) {
          if ("text" in step) {
            last += 1 + step.skip;
            folded.add(jobId(last), { text: step.text, lane: aLane, revision: revision(last * 2) });
            wanted.set(last, step.text);
          } else if ("isLoading" in step) {
            if (step.isLoading) folded.startLoading();
            else folded.finishLoading();
          } else if ("again" in step) {
            if (wanted.has(step.again) || step.again > last) continue;
            const fold = {
              group: groupId("g"),
              state: "failed",
              endMs: 7,
              revision: revision(step.again * 2),
              only: undefined,
            } as const;
            folded.addEnded(jobId(step.again), { ...fold, text: step.ended });
            wanted.set(step.again, step.ended);
            ended.add(step.again);
          } else {
            ended.delete(step.remove);
            folded.delete(jobId(step.remove));
            wanted.delete(step.remove);
          }
          expect(folded.size).toBe(wanted.size);
          for (let id = 0; id <= last + 1; id++) {
            const isThere = wanted.has(id);
            const hasEnded = ended.has(id);
            expect(folded.has(jobId(id))).toBe(isThere);
            expect(folded.laneOf(jobId(id))).toBe(isThere && !hasEnded ? aLane : undefined);
            expect(folded.endedMarkOf(jobId(id))?.state).toBe(hasEnded ? "failed" : undefined);
            if (!isThere) continue;
            expect(folded.textOf(jobId(id))).toBe(wanted.get(id));
            expect(folded.revisionOf(jobId(id))).toBe(id * 2);
          }
        }
      }),
    );
  });
});
