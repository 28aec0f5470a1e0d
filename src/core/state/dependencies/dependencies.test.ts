import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aSpec } from "../../../testing/builders.ts";
import { checkState } from "../../../testing/check/check-state.ts";
import type { World } from "../../../testing/world.ts";
import { limits } from "../../../limits.ts";
import { jobId, nodeId } from "../../model/ids.ts";
import type { JobSpecInput } from "../../model/job/job-spec.ts";
import { verify } from "../../scheduler/verify.ts";
import { findCycle } from "./cycle.ts";
import { aWorld, stateOfJob, submit, tick } from "./testing/dependent-jobs.ts";

test("a chain of ten thousand is skipped to its end, and a fan of as many is released", () => {
  const world = aWorld();
  const count = 10_000;
  submit(world, { name: "head" });
  const chain = Array.from({ length: count }, (_, at) => ({
    name: `c${at}`,
    dependsOn: [{ on: [at === 0 ? "head" : `c${at - 1}`] }],
  }));
  const fan = Array.from({ length: count }, (_, at) => ({
    name: `f${at}`,
    dependsOn: [{ kind: "afternotok", on: ["head"] }],
  }));
  submit(world, ...chain, ...fan);
  world.plan();
  world.report("n", [1, 0, 1], 1);
  expect(world.settle()).toBe(2 * count);
  expect(world.state.totals.jobs).toMatchObject({ skipped: count, failed: 1 });
  expect(world.plan(count * 2)).toHaveLength(1_000);
});

test("more dependents than one tick writes are written in several, and then the target is removed", () => {
  const world = aWorld();
  submit(world, { name: "a" }, { name: "b" }, { name: "c" });
  const many = limits.condensedPerTickMax + 5;
  const dependsOn = [{ on: ["a", "b", "c"], atLeast: 2 }];
  submit(world, ...Array.from({ length: many }, (_, at) => ({ name: `d${at}`, dependsOn })));
  world.plan();
  world.report("n", [1, 0, 1], 0);
  tick(world, 0);
  expect(world.state.jobs.has(jobId(1))).toBe(true);
  tick(world, 0);
  expect(world.state.jobs.has(jobId(1))).toBe(false);
  expect(checkState(world.state)).toEqual([]);
  world.restart();
  world.report("n", [2, 0, 1], 0);
  expect(world.settle()).toBe(many);
});

test("n jobs of one singleton take n steps, not n times n", () => {
  const world = aWorld();
  const count = 5_000;
  const dependsOn = [{ kind: "singleton", name: "x" }];
  submit(world, ...Array.from({ length: count }, (_, at) => ({ name: `s${at}`, dependsOn })));
  world.settle();
  for (let id = 1; id <= count; id++) {
    const placed = world.plan();
    expect(placed.map((task) => task.jobId)).toEqual([id]);
    world.report("n", [id, 0, 1], 0);
    expect(world.settle()).toBe(id === count ? 0 : 1);
  }
});

test("verify rejects a placement of a job with open dependencies, however it was proposed", () => {
  const world = aWorld();
  submit(world, { name: "a" }, { name: "b", dependsOn: [{ on: ["a"] }] });
  const record = world.state.jobs.get(jobId(2)) ?? expect.fail("it is there");
  const node = world.state.nodes.get(nodeId("n")) ?? expect.fail("it is there");
  const proposal = { record, index: 0, target: { kind: "node", node } } as const;
  expect(verify(world.state, proposal)).toEqual({ kind: "job-waits" });
});

test("a retried task counts as started, and a task that never could start does not", () => {
  const world = aWorld();
  submit(
    world,
    { name: "a", retries: { max: 1, backoffMs: 0 } },
    { name: "b", dependsOn: [{ kind: "after", on: ["a"] }] },
    { name: "c" },
    { name: "d", dependsOn: [{ kind: "after", on: ["c"] }] },
  );
  world.plan();
  world.report("n", [1, 0, 1], 1);
  world.do({
    kind: "report-runs",
    nodeId: nodeId("n"),
    session: 1,
    events: [
      {
        kind: "ended",
        run: { jobId: jobId(3), index: 0, attempt: 1 },
        startedAtMs: undefined,
        endedAtMs: world.nowMs,
        outcome: { kind: "could-not-start", message: "no such file" },
      },
    ],
    nowMs: world.nowMs,
  });
  world.settle();
  expect([stateOfJob(world, 2), stateOfJob(world, 4)]).toEqual(["pending", "skipped"]);
});

const refused: readonly [string, readonly Partial<JobSpecInput>[], RegExp][] = [
  [
    "an unknown name",
    [{ name: "a" }, { name: "b", dependsOn: [{ on: ["a", "sweeep"] }] }],
    /^jobs\[1\].dependsOn\[0\].on\[1\]: there is no job called "sweeep"; did you mean "sweep"\?$/,
  ],
  [
    "an id that is not there",
    [{ dependsOn: [{ on: ["17"] }] }],
    /^jobs\[0\].dependsOn\[0\].on\[0\]: there is no job 17; it may have been removed$/,
  ],
  ["an id that is none", [{ dependsOn: [{ on: ["007"] }] }], /on\[0\]: "007" is not an id/],
  [
    "an index that is not in the array",
    [{ dependsOn: [{ on: ["sweep.7"] }] }],
    /on\[0\]: "sweep" has no task 7$/,
  ],
  ["the same by id", [{ dependsOn: [{ on: ["1.7"] }] }], /on\[0\]: job 1 has no task 7$/],
  [
    "a name that appears twice",
    [{ name: "a" }, { name: "a" }, { name: "b", dependsOn: [{ on: ["sweep"] }] }],
    /^jobs\[1\].name: "a" appears twice/,
  ],
  [
    "a name that Busbar gave twice, where somebody means one",
    [{}, {}, { name: "b", dependsOn: [{ on: ["true"] }] }],
    /^jobs\[2\].dependsOn\[0\].on\[0\]: several jobs here have the name "true"/,
  ],
  [
    "a circle",
    [
      { name: "x", dependsOn: [{ on: ["a"] }] },
      { name: "a", dependsOn: [{ on: ["c"] }] },
      { name: "b", dependsOn: [{ kind: "after", on: ["a.0"] }] },
      { name: "c", dependsOn: [{ on: ["sweep", "b"], atLeast: 1 }] },
    ],
    /^jobs\[1\].dependsOn: jobs cannot wait for each other in a circle: a -> c -> b -> a$/,
  ],
  ["itself", [{ name: "sweep", dependsOn: [{ on: ["sweep"] }] }], /in a circle: sweep -> sweep$/],
  [
    "a circle that a singleton closes",
    [
      { name: "a", dependsOn: [{ kind: "singleton", name: "s" }, { on: ["b"] }] },
      { name: "b", dependsOn: [{ kind: "singleton", name: "s" }] },
    ],
    /in a circle: a -> b -> a$/,
  ],
  [
    "more than there are different ones",
    [{ dependsOn: [{ on: ["sweep", "1"], atLeast: 2 }] }],
    /^jobs\[0\].dependsOn\[0\].atLeast: is 2, .*only 1 different/,
  ],
];

describe("invalid dependencies are rejected, and nothing changes", () => {
  for (const [name, specs, message] of refused) {
    test(name, () => {
      const world = aWorld();
      submit(world, { name: "sweep", array: "0-3" });
      const before = world.changes.length;
      expect(() => submit(world, ...specs)).toThrow(message);
      expect(world.changes.length).toBe(before);
    });
  }

  test("more dependencies than a submission may have", () => {
    const world = aWorld();
    submit(world, { name: "a" });
    const on = Array.from({ length: limits.dependenciesPerJobMax }, () => "a");
    const count = limits.dependenciesPerSubmissionMax / on.length;
    const specs = Array.from({ length: count + 1 }, () => ({ dependsOn: [{ on }] }));
    expect(() => submit(world, ...specs)).toThrow(/^jobs: at most 200000 dependencies/);
  });
});

describe("names", () => {
  const targetOf = (world: World, id: number): unknown => {
    const [clause] = world.state.jobs.get(jobId(id))?.job.waitsFor ?? [];
    return clause?.kind === "jobs" ? clause.of : undefined;
  };

  test("resolve to this submission first, then to the newest job, folded or not", () => {
    const world = aWorld();
    submit(world, { name: "a" }, { name: "a" }, { name: "b", labels: { name: "a" } });
    submit(world, { name: 'q"\\', labels: { name: "a" } });
    world.flush();
    expect(world.state.jobs.foldedIn(jobId(2))).toBeDefined();
    submit(
      world,
      { name: "c", dependsOn: [{ on: ["a", "b", 'q"\\'] }] },
      { name: "d", dependsOn: [{ on: ["b"] }] },
      { name: "b" },
    );
    expect(targetOf(world, 5)).toEqual([{ jobId: 2 }, { jobId: 7 }, { jobId: 4 }]);
    expect(targetOf(world, 6)).toEqual([{ jobId: 7 }]);
  });

  test("with a number mean a job of that name, or else one of its tasks", () => {
    const world = aWorld();
    submit(world, { name: "s", array: "0-3" }, { name: "v", array: "0-3" }, { name: "v.2" });
    submit(world, { name: "x", dependsOn: [{ on: ["s.3", "v.2", "v.1", "1.0", "3.0"] }] });
    expect(targetOf(world, 4)).toEqual([
      { jobId: 1, index: 3 },
      { jobId: 3 },
      { jobId: 2, index: 1 },
      { jobId: 1, index: 0 },
    ]);
  });

  test("of jobs that exist already, by their keys, mean these", () => {
    const world = aWorld();
    const send = (key: string | undefined) =>
      world.do({
        kind: "submit-jobs",
        submissions: [
          { spec: aSpec({ name: "a" }), idempotencyKey: "k1" },
          { spec: aSpec({ name: "b", dependsOn: [{ on: ["a"] }] }), idempotencyKey: key },
        ],
        by: "t",
        nowMs: world.nowMs,
      });
    send("k2");
    expect(send("k2")).toEqual([
      { id: 1, existed: true },
      { id: 2, existed: true },
    ]);
    expect(send(undefined)).toEqual([
      { id: 1, existed: true },
      { id: 3, existed: false },
    ]);
    expect(targetOf(world, 3)).toEqual([{ jobId: 1 }]);
    const other = { spec: aSpec({ name: "b", dependsOn: [{ on: ["1"] }] }), idempotencyKey: "k2" };
    const command = { kind: "submit-jobs", submissions: [other], by: "t", nowMs: 0 } as const;
    expect(() => world.do(command)).toThrow(/with this key .*dependsOn/);
  });
});

describe("cycles", () => {
  test("are found exactly when there are some", () => {
    const edges = fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 12 });
    fc.assert(
      fc.property(edges, (all) => {
        const next = (node: number): number[] =>
          all.filter(([from]) => from === node).map(([, to]) => to);
        const cycle = findCycle({ count: 8, next });
        if (cycle === undefined) {
          // Without cycles, nodes without outgoing edges can be removed until none is left.
          let left = [...Array(8).keys()];
          for (let round = 0; round < 8; round++) {
            left = left.filter((node) => next(node).some((to) => left.includes(to)));
          }
          expect(left).toEqual([]);
          return;
        }
        expect(cycle.length).toBeGreaterThan(1);
        expect(cycle[0]).toBe(cycle.at(-1));
        for (const [at, node] of cycle.slice(1).entries()) {
          expect(next(cycle[at] ?? -1)).toContain(node);
        }
      }),
    );
  });
});
