import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { aHello, aSpec } from "../../../testing/builders.ts";
import { cheapestChange as slowChange } from "../../../testing/slow-explain/cheapest-change.ts";
import { outlook as slowOutlook } from "../../../testing/slow-explain/explain.ts";
import {
  clusterAnswers as slowAnswers,
  isPossible as slowPossible,
} from "../../../testing/slow-explain/places.ts";
import { World } from "../../../testing/world.ts";
import { requireOne, want } from "../../graph/testing/requests.ts";
import { limits } from "../../../limits.ts";
import { nodeId } from "../../model/ids.ts";
import type { JobSpecInput } from "../../model/job/job-spec.ts";
import { cheapestChange } from "../explain/cheapest-change.ts";
import {
  describeChange,
  describeClusterReasons,
  describeNodeReasons,
} from "../explain/describe.ts";
import { outlook } from "../explain/explain.ts";
import { matchGraphs, NodeClasses } from "./node-classes.ts";
import { NodeGraphs } from "./node-graphs.ts";
import { clusterAnswers, type ClusterVerdict, isPossible } from "../explain/places.ts";
import { createPolicy } from "../policy.ts";
import { cores, register, submit, tell } from "../testing/worlds.ts";

const policy = createPolicy({ policy: "spread" }, () => 0);
const GIB = 1024 ** 3;

interface NodeChoice {
  readonly cpus: number;
  readonly gib: number;
  readonly gpu: boolean;
  readonly cluster: string;
  readonly zone: string;
  readonly fate: "stay" | "drain" | "leave" | "lose";
}

const aNode: fc.Arbitrary<NodeChoice> = fc.record({
  cpus: fc.constantFrom(1, 2, 4),
  gib: fc.constantFrom(1, 4),
  gpu: fc.boolean(),
  cluster: fc.constantFrom("a", "b"),
  zone: fc.constantFrom("", "x", "y"),
  fate: fc.constantFrom("stay", "stay", "stay", "drain", "leave", "lose"),
});

const someAmounts = fc.record({
  cpu: fc.constantFrom(1, 2, 3, 5),
  memory: fc.constantFrom(1 * GIB, 3 * GIB),
  gpu: fc.constantFrom(0, 0, 1),
});

const whole = [[want(1, "node")]];
const withMpi = [
  [want(1, "node", [want(2, "core")], { requires: [requireOne("mpi", "name", "m")] })],
];
const either = [...cores(3), ...cores(1)];

const aRequest: fc.Arbitrary<Partial<JobSpecInput>> = fc
  .record({
    work: fc.oneof(
      someAmounts.map((resources) => ({ resources })),
      fc
        .constantFrom(cores(1), cores(3), cores(9), whole, withMpi, either)
        .map((request) => ({ request })),
    ),
    where: fc.record(
      {
        cluster: fc.constantFrom("a", "b", "blue"),
        node: fc.constantFrom("n0", "n1", "n99"),
        labels: fc.constantFrom({ zone: "x" }, { zone: "y", rack: "1" }),
        kind: fc.constantFrom("managed" as const, "pulling" as const, "any" as const),
      },
      { requiredKeys: [] },
    ),
    isFree: fc.boolean(),
  })
  .map(({ work, where, isFree }) => ({ ...work, ...(isFree ? {} : { placement: where }) }));

function build(nodes: readonly NodeChoice[], running: readonly Partial<JobSpecInput>[]): World {
  const world = new World();
  for (const [at, { cpus, gib, gpu, cluster, zone }] of nodes.entries()) {
    const capacity = { cpu: cpus * 1_000, memory: gib * GIB, ...(gpu ? { gpu: 1 } : {}) };
    const labels = zone === "" ? {} : { zone, host: `n${at}` };
    const hello = aHello(`n${at}`, { capacity, cluster, labels, session: at + 1 });
    world.do({ kind: "connect-node", ...hello });
  }
  register(world, "blue", 2, 2);
  tell(world, "blue", { nodes_free: 0 });
  for (const input of running) submit(world, { ...input, array: "0-2" });
  world.plan();
  for (const [at, { fate }] of nodes.entries()) {
    const id = nodeId(`n${at}`);
    if (fate === "drain") {
      world.do({ kind: "drain-node", nodeId: id, drain: { reason: "" } });
    } else if (fate !== "stay") {
      world.do({ kind: "disconnect-node", nodeId: id, session: at + 1, nowMs: world.nowMs });
    }
  }
  return world;
}

/** Without the positions of examples among all nodes. */
const shown = (answer: ClusterVerdict) => ({
  ...answer,
  reasons: describeClusterReasons(answer.reasons),
});

describe("explanations by class of node", () => {
  test("equal those of a check of every node", () => {
    const nodes = fc.array(aNode, { maxLength: 12 });
    const running = fc.array(
      someAmounts.map((resources) => ({ resources })),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(nodes, running, fc.array(aRequest, { minLength: 1, maxLength: 4 }), (...all) => {
        const world = build(all[0], all[1]);
        for (const input of all[2]) {
          const spec = aSpec(input);
          const { state } = world;
          const classes = new NodeClasses(state, spec);
          expect(outlook(spec, classes)).toEqual(
            slowOutlook(spec, { nodes: state.nodes.values(), filters: state.filters }),
          );
          expect(clusterAnswers(state, spec, policy, classes).map(shown)).toEqual(
            slowAnswers(state, spec, policy).map(shown),
          );
          expect(cheapestChange(state, spec, policy, classes)).toEqual(
            slowChange(state, spec, policy),
          );
          expect(isPossible(state, spec)).toBe(slowPossible(state, spec));
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** Nodes of which every tenth is larger, each with a label of its own and one that all share. */
function aFleet(nodes: number): World {
  const world = new World();
  for (let at = 0; at < nodes; at++) {
    const capacity = { cpu: at % 10 === 0 ? 8_000 : 4_000, memory: 8 * GIB };
    const labels = { host: `n${at}`, zone: "x" };
    const cluster = `c${at % 3}`;
    world.do({
      kind: "connect-node",
      ...aHello(`n${at}`, { capacity, labels, cluster, session: at + 1 }),
    });
  }
  submit(world, { resources: { cpu: 3 }, array: `0-${2 * nodes}` });
  world.plan();
  return world;
}

function judgedFor(world: World, input: Partial<JobSpecInput>): number {
  const spec = aSpec(input);
  const classes = new NodeClasses(world.state, spec);
  outlook(spec, classes);
  clusterAnswers(world.state, spec, policy, classes);
  cheapestChange(world.state, spec, policy, classes);
  return classes.judged;
}

describe("the cost of an explanation", () => {
  const [few, many] = [aFleet(60), aFleet(3_000)];
  const inputs: readonly Partial<JobSpecInput>[] = [
    { resources: { cpu: 100 } },
    { resources: { cpu: 4 } },
    { resources: { cpu: 100 }, placement: { labels: { zone: "y", rack: "1" } } },
    { request: cores(100) },
    { request: withMpi },
  ];
  for (const input of inputs) {
    test(`does not grow with nodes that are alike: ${JSON.stringify(input).slice(0, 60)}`, () => {
      expect(judgedFor(few, input)).toBeGreaterThan(0);
      expect(judgedFor(many, input)).toBe(judgedFor(few, input));
    });
  }

  test("is bounded where all nodes differ, and the result says so", () => {
    const world = new World();
    for (let at = 0; at < 3_000; at++) {
      const capacity = { cpu: 4_000, memory: GIB + at };
      world.do({ kind: "connect-node", ...aHello(`n${at}`, { capacity, session: at + 1 }) });
    }
    const parts = Array.from({ length: 30 }, () => want(1_000, "core"));
    const spec = aSpec({ request: [[want(1, "node", parts)]] });
    const classes = new NodeClasses(world.state, spec);
    const { reasons, nodes } = outlook(spec, classes);
    expect(nodes).toBe(3_000);
    expect(
      describeNodeReasons(reasons)
        .map(({ reason }) => reason)
        .join(),
    ).toContain("only for 300 kinds of nodes");
    cheapestChange(world.state, spec, policy, classes);
    expect(classes.judged).toBeLessThanOrEqual(3 * 3_000);
  });

  test("with amounts alone makes no graph of a node", () => {
    const made = vi.spyOn(NodeGraphs.prototype, "of");
    const world = aFleet(30);
    judgedFor(world, { resources: { cpu: 100 } });
    judgedFor(world, { resources: { cpu: 4 } });
    expect(made).not.toHaveBeenCalled();
    judgedFor(world, { request: cores(1) });
    expect(made).toHaveBeenCalledTimes(30);
    made.mockRestore();
  });

  test("is paid in slices before it: graphs of nodes are made and matched one slice at a time", () => {
    const nodes = 5 * limits.matchesPerSliceMax;
    const { state } = aFleet(nodes);
    const spec = aSpec({ request: cores(100) });
    const made = vi.spyOn(NodeGraphs.prototype, "of");
    const slices = matchGraphs(state.nodes, cores(100));
    for (let slice = 1; slice <= 5; slice++) {
      expect(slices.next().done).toBe(false);
      expect(made).toHaveBeenCalledTimes(slice * limits.matchesPerSliceMax);
    }
    expect(slices.next().done).toBe(true);
    outlook(spec, new NodeClasses(state, spec));
    expect(made).toHaveBeenCalledTimes(nodes);
    made.mockRestore();
  });

  test("says when there are more running tasks than it tries to end", () => {
    const world = new World();
    const tasks = limits.tasksExplainedMax + 1;
    const capacity = { cpu: (tasks + 9) * 1_000 };
    world.do({ kind: "connect-node", ...aHello("n", { capacity, session: 1 }) });
    submit(world, { array: `1-${tasks}` });
    expect(world.plan().length).toBe(tasks);
    const change = cheapestChange(world.state, aSpec({ resources: { cpu: tasks } }), policy);
    expect(change && describeChange(change)).toContain("ask for 9 cpu instead of");
    expect(change && describeChange(change)).toContain(
      "(the ends of only 50000 running tasks were tried)",
    );
    const few = cheapestChange(world.state, aSpec({ resources: { cpu: 10 } }), policy);
    expect(few && describeChange(few)).toMatch(/^none: it fits when task 1.1 on node n ends$/);
  });

  test("an agent that reconnects changes nothing of what is possible", () => {
    const { state } = few;
    state.possible.isPossible.set("kept", true);
    const row = state.nodes.get(nodeId("n1"))?.node;
    if (row === undefined) throw new Error("n1 is there");
    few.do({ kind: "disconnect-node", nodeId: row.id, session: 2, nowMs: 1 });
    few.do({
      kind: "connect-node",
      ...aHello("n1", {
        capacity: row.capacity,
        labels: row.labels,
        cluster: row.cluster,
        session: 99,
      }),
    });
    expect(state.possible.isPossible.has("kept")).toBe(true);
    few.do({
      kind: "connect-node",
      ...aHello("n1", {
        capacity: { cpu: 1 },
        labels: row.labels,
        cluster: row.cluster,
        session: 100,
      }),
    });
    expect(state.possible.isPossible.has("kept")).toBe(false);
  });
});
