import type { Change } from "./change.ts";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { allJobs } from "./checks/all-jobs.ts";
import { checkState, digest, readBack } from "../../testing/check/check-state.ts";
import { World } from "../../testing/world.ts";
import { AppError } from "../../lib/errors.ts";
import { TABLES } from "./tables/tables.ts";
import { isJobEnded } from "../model/progress.ts";
import { NODES, resetSessions, run, type Step, step } from "./testing/random-steps.ts";
import { runs } from "../../testing/runs.ts";
import { removeServices } from "./services/testing/service-steps.ts";

/** Whether the core accepted the step; false: it rejected it. */
function tried(world: World, one: Step): boolean {
  try {
    run(world, one);
    return true;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return false;
  }
}

describe("state", () => {
  test("whatever happens, indexes agree with rows and nothing is overcommitted", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const world = new World();
        for (const one of steps) {
          const before = world.changes.length;
          if (!tried(world, one)) expect(world.changes.length).toBe(before); // a rejection changes nothing
          expect(checkState(world.state)).toEqual([]);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  test("a state read back from its rows is the same state", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const world = new World();
        for (const one of steps) {
          tried(world, one);
        }
        const back = readBack(world.changes);
        expect(digest(back)).toEqual(digest(world.state));
        expect(checkState(back)).toEqual([]);
      }),
      { numRuns: runs(300) },
    );
  });

  test("folding of queued jobs makes no difference", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const worlds = [new World(), new World()] as const;
        for (const world of worlds) {
          resetSessions();
          for (const one of steps) {
            if (world === worlds[1]) world.flush();
            else if (one.do === "flush") continue;
            tried(world, one);
          }
        }
        expect(worlds[1].changes).toEqual(worlds[0].changes);
        expect(digest(worlds[1].state)).toEqual(digest(worlds[0].state));
      }),
      { numRuns: runs(300) },
    );
  });

  test("the newest change of each row in a batch alone leaves the same rows", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const world = new World();
        for (const one of steps) {
          if (one.do === "flush") continue; // all is one batch
          tried(world, one);
        }
        const isNewest = (change: Change): boolean => world.state.isNewest(change);
        const newest = world.changes.filter(isNewest);
        expect(digest(readBack(world.changes, isNewest))).toEqual(digest(readBack(world.changes)));
        const keys: string[] = [];
        for (const change of newest) {
          TABLES.encode(change, (key, value) => void (value !== undefined && keys.push(key)));
        }
        const written = new Set(keys);
        expect(keys.length).toBe(written.size);
      }),
      { numRuns: runs(200) },
    );
  });

  test("every job that can end does: with agents that answer, all jobs end", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
        const world = new World();
        for (const one of steps) {
          tried(world, one);
        }
        finishAll(world);
        const stuck = [...allJobs(world.state)].filter(
          ({ progress, job }) =>
            (progress.state === "pending" || progress.state === "running") &&
            (job.spec.needs["cpu"] ?? 0) <= 4_000 &&
            world.state.holds.get(job.id) === undefined, // for one that is too large
        );
        expect(stuck.map(({ job, progress }) => [job.id, progress.counts])).toEqual([]);
      }),
      { numRuns: runs(300) },
    );
  });
});

/** Every node reconnects, undrained, and reports success for each of its tasks. */
function finishAll(world: World): void {
  for (const name of NODES) {
    run(world, { do: "connect", node: name, forgets: false, os: undefined });
    run(world, { do: "drain", node: name, on: false });
  }
  removeServices(world);
  for (const group of ["a", "b"] as const) run(world, { do: "pause", group, on: false });
  for (const { job, progress } of allJobs(world.state)) {
    if (isJobEnded(progress) || job.closed !== undefined) continue;
    const release = { kind: "hold-job", index: undefined, hold: undefined } as const;
    world.do({ ...release, jobId: job.id, nowMs: world.nowMs });
  }
  for (let round = 0; round < 200; round++) {
    world.nowMs += 3_600_000;
    const settled = world.settle();
    world.plan();
    let reported = 0;
    for (const { node, tasks } of world.state.nodes.values()) {
      const there = Array.from(tasks); // reporting removes them
      for (const task of there) world.report(node.id, [task.jobId, task.index, task.attempt], 0);
      reported += there.length;
    }
    if (reported + settled === 0) return;
  }
}
