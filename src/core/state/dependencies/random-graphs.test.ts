import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aSpec } from "../../../testing/builders.ts";
import { readJobs } from "../checks/all-jobs.ts";
import { rowsOf } from "../checks/holds.ts";
import { allJobs } from "../checks/all-jobs.ts";
import { checkState, digest, readBack } from "../../../testing/check/check-state.ts";
import { slowOutcome } from "../checks/slow-dependencies.ts";
import type { World } from "../../../testing/world.ts";
import { AppError } from "../../../lib/errors.ts";
import type { DependencyInput } from "../../model/job/dependency.ts";
import { jobId } from "../../model/ids.ts";
import { isActive } from "../../model/job/task.ts";
import type { Submission } from "../submission.ts";
import { aWorld, statesOf, tick } from "./testing/dependent-jobs.ts";

const kinds = ["afterok", "afterany", "afternotok", "after"] as const;

/** The dependencies of one job of a submission: others of it by name, older ones by id, or a name. */
const dependency = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom(...kinds),
      // Mostly on earlier jobs: a cycle rejects the whole submission.
      on: fc.array(
        fc.record({ back: fc.integer({ min: -1, max: 3 }), old: fc.nat(20), task: fc.nat(3) }),
        { minLength: 1, maxLength: 4 },
      ),
      all: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ singleton: fc.constantFrom("x", "y") }) },
);
const graph = fc.array(
  fc.record({
    size: fc.constantFrom(0, 0, 2),
    deadline: fc.constantFrom(undefined, undefined, 2_000),
    needs: fc.array(dependency, { maxLength: 2 }),
  }),
  { minLength: 1, maxLength: 5 },
);
const step = fc.oneof(
  { weight: 3, arbitrary: graph.map((jobs) => ({ do: "submit" as const, jobs })) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("end" as const), pick: fc.nat(30), code: fc.nat(1) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("start" as const), pick: fc.nat(30) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("cancel" as const),
      job: fc.integer({ min: 1, max: 15 }),
      index: fc.constantFrom(undefined, undefined, 0, 1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(5_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), ms: fc.nat(5_000) }) },
  { weight: 2, arbitrary: fc.constant({ do: "restart" as const }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Graph = typeof graph extends fc.Arbitrary<infer T> ? T : never;

function toSubmissions(jobs: Graph, last: number): Submission[] {
  const nameOf = (at: number): string => `j${last + 1 + at}`;
  const toInput = (at: number, one: Graph[number]["needs"][number]): DependencyInput => {
    if ("singleton" in one) return { kind: "singleton", name: one.singleton };
    const on = one.on.map(({ back, old, task }) => {
      const to = at - back;
      const isHere = back !== 0 && to >= 0 && to < jobs.length;
      const name = isHere ? nameOf(to) : String(Math.max(1, last - old));
      const isArray = isHere && (jobs[to]?.size ?? 0) > 0;
      return isArray && task < 2 ? `${name}.${task}` : name;
    });
    const distinct = new Set(on).size;
    const atLeast = one.all ? undefined : Math.ceil(distinct / 2);
    return { kind: one.kind, on, atLeast };
  };
  return jobs.map(({ size, deadline, needs }, at) => ({
    spec: aSpec({
      name: nameOf(at),
      array: size === 0 ? undefined : `0-${size}`,
      queueDeadlineMs: deadline,
      dependsOn: needs.map((one) => toInput(at, one)),
    }),
    idempotencyKey: undefined,
  }));
}

function run(world: World, one: Step): void {
  const { state, nowMs } = world;
  switch (one.do) {
    case "submit": {
      const submissions = toSubmissions(one.jobs, state.counter.lastJobId);
      world.do({ kind: "submit-jobs", submissions, by: "t", nowMs });
      return;
    }
    case "start":
    case "end": {
      const active = [...allJobs(state)].flatMap((record) =>
        [...record.taskRows()].filter((task) => isActive(task.state)),
      );
      active.sort((a, b) => a.jobId - b.jobId || a.index - b.index);
      const task = active[one.pick % Math.max(1, active.length)];
      if (task === undefined) return;
      const code = one.do === "end" ? one.code : undefined;
      world.report("n", [task.jobId, task.index, task.attempt], code);
      return;
    }
    case "cancel": {
      const id = jobId(one.job);
      world.do({ kind: "cancel-job", jobId: id, index: one.index, reason: "r", by: "t", nowMs });
      return;
    }
    case "wait":
    case "remove":
      world.nowMs += one.ms;
      tick(world, one.do === "remove" ? 0 : 1_000_000);
      return;
    case "restart":
      world.restart();
  }
}

/** Whether it was rejected. */
function tried(world: World, one: Step): boolean {
  try {
    run(world, one);
    return true;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return false;
  }
}

describe("jobs that depend on others", () => {
  test("are released and skipped according to their rows, whatever happens", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
        const world = aWorld();
        for (const one of steps) {
          tried(world, one);
          expect(checkState(world.state)).toEqual([]);
          const held = [...allJobs(world.state)].filter(({ job }) => world.state.holds.get(job.id));
          const waited = held.map(({ job }) => job);
          world.settle();
          expect(checkState(world.state)).toEqual([]);
          const rows = rowsOf(readJobs(world.state));
          for (const { id, waitsFor = [] } of waited) {
            const job = rows.job(id) ?? expect.fail(`job ${id} is gone`);
            const outcome =
              job.closed !== undefined ? "skip" : job.waitsFor === undefined ? "release" : "wait";
            expect([id, outcome]).toEqual([id, slowOutcome(rows, job, waitsFor)]);
            seen.add(outcome);
          }
          world.plan();
        }
      }),
      { numRuns: 400 },
    );
    expect([...seen].sort()).toEqual(["release", "skip", "wait"]);
  });

  test("have the same outcome when targets are removed and the server restarts at any time", () => {
    let compared = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
        const [keeper, remover] = [aWorld(), aWorld()];
        for (const [at, one] of steps.entries()) {
          // A removed job cannot be named any more: such a submission is rejected in one world only.
          if (!tried(remover, one)) continue;
          if (one.do === "remove") run(keeper, { do: "wait", ms: one.ms });
          else if (one.do !== "restart") run(keeper, one);
          // Also while outcomes are known and not written yet.
          if (at % 3 === 0) tick(remover, 0);
          if (at % 5 === 0) remover.restart();
          for (const world of [keeper, remover]) {
            world.settle();
            world.plan();
          }
          expect(checkState(remover.state)).toEqual([]);
          const [want, have] = [statesOf(keeper), statesOf(remover)];
          for (const [id, state] of have) expect([id, state]).toEqual([id, want.get(id)]);
          for (const [id, state] of want) {
            if (have.has(id)) continue;
            expect(["held", "pending", "running"]).not.toContain(state);
            compared++;
          }
        }
        expect(digest(readBack(remover.changes))).toEqual(digest(remover.state));
      }),
      { numRuns: 500 },
    );
    expect(compared).toBeGreaterThan(100);
  });
});
