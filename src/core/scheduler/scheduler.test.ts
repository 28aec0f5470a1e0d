import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../testing/builders.ts";
import { World } from "../../testing/world.ts";
import { jobId, nodeId } from "../model/ids.ts";
import type { JobSpecInput } from "../model/job/job-spec.ts";
import { NodeRecord } from "../state/nodes/node-record.ts";
import { hintsFor, outlook } from "./explain/explain.ts";
import { NodeClasses } from "./nodes/node-classes.ts";
import { isPossible } from "./explain/places.ts";
import { nodeReady } from "./filters/node-ready.ts";
import { resourcesFit } from "./filters/resources-fit.ts";
import { whereMatches } from "./filters/where-matches.ts";
import { binpack } from "./scorers/binpack.ts";
import { spread } from "./scorers/spread.ts";
import { verify } from "./verify.ts";

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

describe("filters", () => {
  const world = worldWith({ w1: 4 });
  const node = record(world, "w1");
  const cases = [
    { name: "fits exactly", input: { resources: { cpu: 4 } }, want: "yes" },
    {
      name: "too large",
      input: { resources: { cpu: 5 } },
      want: "never: too small: has 4 cpu, 5 cpu asked",
    },
    {
      name: "no such resource",
      input: { resources: { gpu: 1 } },
      want: "never: too small: has 0 gpu, 1 gpu asked",
    },
  ];
  for (const { name, input, want } of cases) {
    test(`resources-fit: ${name}`, () => {
      const verdict = resourcesFit.check(aSpec(input), node);
      expect(verdict.kind === "yes" ? "yes" : `${verdict.kind}: ${verdict.reason}`).toBe(want);
    });
  }

  test("resources-fit: busy is not never", () => {
    const busy = worldWith({ w1: 4 });
    submit(busy, { resources: { cpu: 3 } });
    busy.plan();
    expect(resourcesFit.check(aSpec({ resources: { cpu: 2 } }), record(busy, "w1"))).toEqual({
      kind: "not-now",
      reason: "busy: 1 cpu free, 2 cpu asked",
    });
  });

  test("node-ready: a draining or disconnected node takes nothing now", () => {
    const away = worldWith({ w1: 1 });
    away.do({ kind: "drain-node", nodeId: nodeId("w1"), drain: { by: "t", reason: "" } });
    expect(nodeReady.check(aSpec(), record(away, "w1"))).toEqual({
      kind: "not-now",
      reason: "drained",
    });
    away.do({ kind: "disconnect-node", nodeId: nodeId("w1"), session: 1, nowMs: 5 });
    expect(nodeReady.check(aSpec(), record(away, "w1"))).toEqual({
      kind: "not-now",
      reason: "disconnected",
    });
  });

  test("where-matches: cluster, node and labels must be as asked", () => {
    const labelled = new NodeRecord({ ...node.node, labels: { zone: "a" } });
    const check = (placement: JobSpecInput["placement"]): string =>
      whereMatches.check(aSpec({ placement }), labelled).kind;
    expect(check({ cluster: "default", node: "w1", labels: { zone: "a" } })).toBe("yes");
    expect(check({ cluster: "other" })).toBe("never");
    expect(check({ node: "w2" })).toBe("never");
    expect(check({ labels: { zone: "b" } })).toBe("never");
  });
});

describe("placement", () => {
  test("spread takes the emptiest node, binpack the fullest that fits", () => {
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

  test("a request that fits nowhere waits and is woken by the node that can help it", () => {
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

  test("a node that comes back larger wakes what waited for it", () => {
    const world = worldWith({ a: 2 });
    submit(world, { resources: { cpu: 3 } });
    expect(nodesOf(world)).toEqual([]);
    world.do({ kind: "connect-node", ...aHello("a", { capacity: { cpu: 3_000 }, session: 9 }) });
    expect(nodesOf(world)).toEqual(["a"]);
  });

  test("memory counts as cpu does", () => {
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

describe("verify", () => {
  test("refuses overcommit, a second placement and nodes that are gone", () => {
    const world = worldWith({ a: 1 });
    submit(world, { array: "0-1" });
    const job = world.state.jobs.get(jobId(1));
    if (job === undefined) throw new Error("no job");
    const target = { kind: "node", node: record(world, "a") } as const;
    const judge = (index: number) => verify({ record: job, index, target }, world.state.clusters);
    expect(judge(0)).toBeUndefined();
    world.plan(1);
    expect(judge(0)).toBe("task is assigned already");
    expect(judge(1)).toBe("node a has no room");
    world.do({ kind: "disconnect-node", nodeId: nodeId("a"), session: 1, nowMs: 0 });
    expect(judge(1)).toBe("node a takes no tasks");
  });
});

describe("explain", () => {
  test("says how many nodes refuse for which reason, and what would help", () => {
    const world = worldWith({ a: 2, b: 2, c: 4 });
    submit(world, { resources: { cpu: 4 } });
    world.plan();
    const spec = aSpec({ resources: { cpu: 3 } });
    const seen = outlook(spec, new NodeClasses(world.state.nodes.values(), spec));
    expect(seen.reasons.map(({ reason, nodes, never }) => [reason, nodes, never])).toEqual([
      ["too small: has 2 cpu, 3 cpu asked", 2, true],
      ["busy: 0 cpu free, 3 cpu asked", 1, false],
    ]);
    expect(hintsFor(spec, seen)).toEqual(["wait for running tasks to end, or add nodes"]);
    expect(isPossible(world.state, spec)).toBe(true);
  });

  test("ten thousand cpus are hopeless, and it says so", () => {
    const world = worldWith({ a: 2 });
    const spec = aSpec({ resources: { cpu: 10_000 } });
    expect(isPossible(world.state, spec)).toBe(false);
    expect(
      hintsFor(spec, outlook(spec, new NodeClasses(world.state.nodes.values(), spec)))[0],
    ).toContain("ask for less than 10000 cpu");
  });
});
