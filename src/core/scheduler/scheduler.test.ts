import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../testing/builders.ts";
import { World } from "../../testing/world.ts";
import { nodeId } from "../model/ids.ts";
import type { JobSpecInput } from "../model/job/job-spec.ts";
import type { NodeRecord } from "./nodes/node-record.ts";
import { describeNodeReasons } from "./explain/describe.ts";
import { hintsFor, outlook } from "./explain/explain.ts";
import { NodeClasses } from "./nodes/node-classes.ts";
import { isPossible } from "./explain/places.ts";
import { binpack } from "./scorers/binpack.ts";
import { spread } from "./scorers/spread.ts";

/** A world with these nodes (name to cpus). */
function worldWith(nodes: Readonly<Record<string, number>>): World {
  const world = new World();
  let session = 0;
  for (const [name, cpus] of Object.entries(nodes)) {
    const hello = aHello(name, { capacity: { cpu: cpus * 1_000 }, session: ++session });
    world.do({ kind: "connect-node", ...hello });
  }
  return world;
}

function submit(world: World, input: Partial<JobSpecInput>): void {
  const submissions = [{ spec: aSpec(input), idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, by: "test", nowMs: world.nowMs });
}

const record = (world: World, name: string): NodeRecord => {
  const found = world.state.nodes.get(nodeId(name));
  if (found === undefined) throw new Error(`no node ${name}`);
  return found;
};

const nodesOf = (world: World, max?: number): string[] =>
  world.plan(max).map(({ state }) => ("nodeId" in state ? String(state.nodeId) : "none"));

describe("placement", () => {
  test("spread chooses the emptiest node, binpack the fullest that fits", () => {
    const world = worldWith({ a: 4, b: 4 });
    submit(world, { array: "0-3" });
    expect(nodesOf(world)).toEqual(["a", "b", "a", "b"]);
    const packed = worldWith({ a: 4, b: 4 });
    packed.policy = "binpack";
    submit(packed, { array: "0-4" });
    expect(nodesOf(packed)).toEqual(["a", "a", "a", "a", "b"]);
  });

  test("scores: an emptier node is better for spread and worse for binpack", () => {
    const world = worldWith({ a: 4, b: 8 });
    const [small, large] = [record(world, "a"), record(world, "b")];
    expect(spread.score(aSpec(), large)).toBeGreaterThan(spread.score(aSpec(), small));
    expect(binpack.score(aSpec(), small)).toBeGreaterThan(binpack.score(aSpec(), large));
  });

  test("a request that fits nowhere waits, and wakes when a node can serve it", () => {
    const world = worldWith({ a: 2 });
    submit(world, { resources: { cpu: 8 } });
    submit(world, {});
    expect(nodesOf(world)).toEqual(["a"]);
    expect(nodesOf(world)).toEqual([]);
    world.do({ kind: "connect-node", ...aHello("b", { capacity: { cpu: 4_000 }, session: 7 }) });
    expect(nodesOf(world)).toEqual([]);
    world.do({ kind: "connect-node", ...aHello("c", { capacity: { cpu: 8_000 }, session: 8 }) });
    expect(nodesOf(world)).toEqual(["c"]);
  });

  test("a node that comes back larger wakes the jobs that waited for it", () => {
    const world = worldWith({ a: 2 });
    submit(world, { resources: { cpu: 3 } });
    expect(nodesOf(world)).toEqual([]);
    world.do({ kind: "connect-node", ...aHello("a", { capacity: { cpu: 3_000 }, session: 9 }) });
    expect(nodesOf(world)).toEqual(["a"]);
  });

  test("memory counts like cpu", () => {
    const world = new World();
    const capacity = { cpu: 8_000, memory: 4 };
    world.do({ kind: "connect-node", ...aHello("a", { capacity }) });
    submit(world, { array: "0-9", resources: { cpu: 1, memory: 2 } });
    expect(nodesOf(world)).toEqual(["a", "a"]);
  });

  test("the order in which nodes joined does not matter", () => {
    const names = ["a", "b", "c", "d"];
    const plans = [names, names.toReversed()].map((order) => {
      const world = worldWith(Object.fromEntries(order.map((name) => [name, 3])));
      submit(world, { array: "0-9" });
      return nodesOf(world);
    });
    expect(plans[0]).toEqual(plans[1]);
  });

  test("jobs for one node or label go there and nowhere else", () => {
    const world = worldWith({ a: 9, b: 1 });
    submit(world, { array: "0-2", placement: { node: "b" } });
    expect(nodesOf(world)).toEqual(["b"]);
    submit(world, { placement: { labels: { gpu: "yes" } } });
    expect(nodesOf(world)).toEqual([]);
    const labels = { gpu: "yes" };
    world.do({ kind: "connect-node", ...aHello("c", { labels, session: 9 }) });
    expect(nodesOf(world)).toEqual(["c"]);
  });
});

describe("explain", () => {
  test("says how many nodes reject the job for which reason, and what would help", () => {
    const world = worldWith({ a: 2, b: 2, c: 4 });
    submit(world, { resources: { cpu: 4 } });
    world.plan();
    const spec = aSpec({ resources: { cpu: 3 } });
    const seen = outlook(spec, new NodeClasses(world.state, spec));
    expect(seen.reasons.map(({ reason, nodes, never }) => ({ ...reason, nodes, never }))).toEqual([
      { kind: "too-small", resource: "cpu", has: 2_000, asked: 3_000, nodes: 2, never: true },
      { kind: "busy", resource: "cpu", free: 0, asked: 3_000, nodes: 1, never: false },
    ]);
    expect(describeNodeReasons(seen.reasons)).toEqual([
      {
        reason: "too small: has 2 cpu, 3 cpu requested",
        nodes: 2,
        never: true,
        examples: ["a", "b"],
      },
      { reason: "busy: 0 cpu free, 3 cpu requested", nodes: 1, never: false, examples: ["c"] },
    ]);
    expect(hintsFor(spec, seen)).toEqual(["wait for running tasks to end, or add nodes"]);
    expect(isPossible(world.state, spec)).toBe(true);
  });

  test("says that ten thousand cpus are unsatisfiable", () => {
    const world = worldWith({ a: 2 });
    const spec = aSpec({ resources: { cpu: 10_000 } });
    expect(isPossible(world.state, spec)).toBe(false);
    expect(hintsFor(spec, outlook(spec, new NodeClasses(world.state, spec)))[0]).toContain(
      "request less than 10000 cpu",
    );
  });
});
