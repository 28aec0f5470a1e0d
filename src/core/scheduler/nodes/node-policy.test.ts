import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aSpec } from "../../../testing/builders.ts";
import { World } from "../../../testing/world.ts";
import { limits } from "../../../limits.ts";
import { nodeId } from "../../model/ids.ts";
import type { JobSpec } from "../../model/job/job.ts";
import type { Resources } from "../../model/resources.ts";
import type { Task } from "../../model/job/task.ts";
import { isActive } from "../../model/job/task.ts";
import { placeTask } from "../../state/decide/tasks/place-task.ts";
import { judge } from "../../../testing/slow-explain/explain.ts";
import { describeRefusal } from "../explain/describe.ts";
import { choiceFor } from "./node-policy.ts";
import { nextPlacement } from "../plan.ts";
import { createPolicy } from "../policy.ts";
import { preferenceNow } from "./placement-cost.ts";
import { cores, join, submit, whereTo } from "../testing/worlds.ts";
import { dryRun } from "../explain/dry-run.ts";

const ROOMY = { cpu: 1_000_000 };
const LARGE_FLEET = 3 * limits.candidatesPerPlacementMax;

const names = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `n${String(at).padStart(3, "0")}`);

function aWorld(policy: string, nodes: readonly string[], capacity: Resources = ROOMY): World {
  const world = new World();
  world.policy = policy;
  for (const name of nodes) join(world, name, capacity);
  return world;
}

/** The nodes of `count` tasks that are submitted together. */
function place(world: World, count = 1): string[] {
  submit(world, { array: `0-${count - 1}` });
  return world.plan().map(whereTo);
}

const countsOf = (placed: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const name of placed) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
};

/** The nodes of a dry run. */
function foresee(world: World, count: number): string[] {
  const { policy, seed } = world;
  const bounds = {
    candidatesMax: limits.candidatesPerPlacementMax,
    placementsMax: 1_000,
    stepsMax: 1e6,
  };
  const spec = aSpec({ array: `0-${count - 1}` });
  const [trial] = dryRun(
    world.state,
    [spec],
    createPolicy({ policy, seed }, () => 0),
    bounds,
  );
  return (trial?.placements ?? []).map(({ target }) =>
    target.kind === "node" ? target.node.node.id : target.cluster,
  );
}

const end = (world: World, { state, jobId, index, attempt }: Task): void => {
  if (isActive(state)) world.report(state.nodeId, [jobId, index, attempt], 0);
};

describe("round-robin", () => {
  test("goes from node to node, first by name, and continues with each submission", () => {
    const world = aWorld("round-robin", ["c", "a", "b"]);
    expect([...place(world), ...place(world, 3), ...place(world)]).toEqual([
      "a",
      "b",
      "c",
      "a",
      "b",
    ]);
  });

  test("a node that becomes free, or joins late, does not go before nodes that have waited longer", () => {
    const world = aWorld("round-robin", ["a", "b", "c"], { cpu: 1_000 });
    submit(world, { array: "0-2" });
    const [a, b, c] = world.plan();
    for (const task of [c, b, a]) if (task !== undefined) end(world, task);
    expect(place(world, 2)).toEqual(["a", "b"]);
    join(world, "aa", { cpu: 1_000 });
    expect(place(world, 3)).toEqual(["aa", "c"]); // those without a task first, then the longest ago
  });

  test("a full fleet that becomes free in another order keeps its own order", () => {
    const world = aWorld("round-robin", names(LARGE_FLEET), { cpu: 1_000 });
    submit(world, { array: `0-${2 * LARGE_FLEET - 1}` });
    const first = world.plan();
    expect(first.map(whereTo)).toEqual(names(LARGE_FLEET));
    for (const task of first.toReversed()) end(world, task);
    expect(world.plan().map(whereTo)).toEqual(names(LARGE_FLEET));
  });

  test("nodes of all sizes take turns, each for as long as it has free capacity", () => {
    const world = aWorld("round-robin", []);
    for (const [name, cpu] of Object.entries({ tiny: 1_000, small: 2_000, big: 64_000 })) {
      join(world, name, { cpu });
    }
    expect(place(world, 7)).toEqual(["big", "small", "tiny", "big", "small", "big", "big"]);
  });

  test("equal nodes with free capacity get equal numbers of tasks, however many nodes there are", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: LARGE_FLEET }),
        fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 6 }),
        (nodes, submissions) => {
          const world = aWorld("round-robin", names(nodes));
          const counts = countsOf(names(nodes)); // one more than each got
          for (const size of submissions) {
            for (const name of place(world, size)) counts.set(name, (counts.get(name) ?? 0) + 1);
            const got = [...counts.values()];
            expect(Math.max(...got) - Math.min(...got)).toBeLessThanOrEqual(1);
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  test("one placement looks at one node, however many there are", () => {
    const world = aWorld("round-robin", names(2_000));
    place(world, 1);
    const before = world.state.fleet.work.nodesLookedAt;
    place(world, 100);
    expect(world.state.fleet.work.nodesLookedAt - before).toBe(100);
  });
});

describe("random", () => {
  test("uses all nodes about equally often, also when there are many", () => {
    for (const nodes of [5, LARGE_FLEET]) {
      const counts = countsOf(place(aWorld("random", names(nodes)), 100 * nodes));
      expect(counts.size).toBe(nodes);
      for (const count of counts.values()) expect(Math.abs(count - 100)).toBeLessThan(50); // 5 sigma
    }
  });

  test("is as fair among the few that have free capacity", () => {
    const world = aWorld("random", []);
    for (const [at, name] of names(LARGE_FLEET).entries()) {
      const memory = at % 16 === 0 ? 1_000_000 : 0;
      join(world, name, { ...ROOMY, memory });
    }
    submit(world, { array: "0-599", resources: { cpu: 0.001, memory: 1 } });
    const counts = countsOf(world.plan().map(whereTo));
    expect(counts.size).toBe(LARGE_FLEET / 16);
    for (const count of counts.values()) expect(Math.abs(count - 100)).toBeLessThan(50);
  });

  test("the same seed gives the same placements, in whatever order the nodes joined", () => {
    const placed = (seed: number, nodes: readonly string[]): string[] => {
      const world = aWorld("random", nodes, { cpu: 4_000 });
      world.seed = seed;
      return [...place(world, 40), ...place(world, 150), ...place(world, 2 * LARGE_FLEET)];
    };
    fc.assert(
      fc.property(fc.nat(2 ** 32 - 1), fc.shuffledSubarray(names(LARGE_FLEET)), (seed, nodes) => {
        expect(placed(seed, nodes)).toEqual(placed(seed, nodes.toSorted()));
      }),
      { numRuns: 15 },
    );
    expect(placed(1, names(40))).not.toEqual(placed(2, names(40)));
  });

  test("a search that finds nothing uses up no numbers", () => {
    const [quiet, busy] = [aWorld("random", names(50)), aWorld("random", names(50))];
    submit(busy, { resources: { cpu: 9_999 } });
    busy.plan();
    expect(place(busy, 30)).toEqual(place(quiet, 30));
  });
});

describe("the most preferred alternative wins", () => {
  const request = [...cores(6), ...cores(1)];
  const smallOnes = names(limits.candidatesPerPlacementMax - 1);

  for (const policy of ["round-robin", "random"]) {
    test(`goes before what ${policy} says`, () => {
      const world = aWorld(policy, smallOnes, { cpu: 3_000 });
      join(world, "roomy", { cpu: 30_000 });
      submit(world, { array: "0-6", request });
      const placed = world.plan().map(whereTo);
      expect(placed.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => "roomy"));
      expect(placed).not.toEqual(Array.from({ length: 7 }, () => "roomy"));
    });

    test(`is found by ${policy} in whatever order nodes are offered`, () => {
      const world = aWorld(policy, ["a", "z"], { cpu: 3_000 });
      join(world, "roomy", { cpu: 30_000 });
      const records = [...world.state.nodes.values()];
      const nodes = createPolicy({ policy }, () => 0).nodes;
      for (const order of [records, records.toReversed()]) {
        const choice = choiceFor(nodes, aSpec({ request }), world.state.fleet);
        for (const record of order) choice.offer(record);
        expect(choice.record?.node.id).toBe("roomy");
      }
    });
  }
});

describe("a dry run", () => {
  for (const policy of ["round-robin", "random"]) {
    test(`foresees what ${policy} does, and leaves no trace`, () => {
      const world = aWorld(policy, names(LARGE_FLEET));
      place(world, 50);
      const foreseen = foresee(world, 60);
      expect(foresee(world, 60)).toEqual(foreseen);
      expect(place(world, 60)).toEqual(foreseen);
    });
  }
});

const step = fc.oneof(
  fc.record({
    do: fc.constant("submit" as const),
    size: fc.integer({ min: 1, max: 40 }),
    ask: fc.constantFrom(
      { resources: { cpu: 1 } },
      { resources: { cpu: 3 } },
      { resources: { cpu: 1, memory: 4 } },
      { resources: { cpu: 1 }, placement: { cluster: "blue" } },
      { request: cores(2) },
      { request: [...cores(6), ...cores(1)] },
    ),
  }),
  fc.record({ do: fc.constant("end" as const), count: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ do: fc.constant("join" as const), cpus: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ do: fc.constant("drain" as const), at: fc.nat(50), on: fc.boolean() }),
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function run(world: World, one: Step, running: Task[]): void {
  switch (one.do) {
    case "submit":
      submit(world, { array: `0-${one.size - 1}`, ...one.ask });
      return;
    case "join":
      join(world, `m${world.state.nodes.size}`, { cpu: one.cpus * 1_000, memory: 8 });
      return;
    case "end":
      for (const task of running.splice(0, one.count)) end(world, task);
      return;
    case "drain": {
      const name = [...world.state.nodes.keys()][one.at % world.state.nodes.size];
      const drain = one.on ? { by: "t", reason: "" } : undefined;
      world.do({ kind: "drain-node", nodeId: nodeId(name ?? ""), drain });
    }
  }
}

/** Nodes with free capacity that serve the most preferred alternative, found by brute force. */
function fitting(world: World, spec: JobSpec, cluster: string | undefined): readonly string[] {
  const nodes = [...world.state.nodes.values()].filter(
    (record) =>
      (cluster === undefined || record.node.cluster === cluster) &&
      judge(world.state.filters, spec, record).kind === "yes",
  );
  const best = Math.min(...nodes.map((record) => preferenceNow(spec, record)));
  return nodes
    .filter((record) => preferenceNow(spec, record) === best)
    .map(({ node }) => String(node.id));
}

test("round-robin equals a search of all nodes, whatever happens", () => {
  const policy = createPolicy({ policy: "round-robin" }, () => 0);
  const bounds = {
    candidatesMax: limits.candidatesPerPlacementMax,
    wakeChecksMax: 1_000,
    nowMs: 0,
  };
  const property = fc.property(fc.array(step, { minLength: 2, maxLength: 14 }), (steps) => {
    const world = aWorld("round-robin", names(10), { cpu: 3_000, memory: 8 });
    for (const at of [0, 1, 2, 3]) join(world, `b${at}`, { cpu: 8_000, memory: 9 }, "blue");
    const given: string[] = [];
    const running: Task[] = [];
    for (const one of steps) {
      run(world, one, running);
      for (;;) {
        const next = nextPlacement(world.state, policy, bounds);
        if (next === undefined || "shares" in next || next.target.kind !== "node") break;
        const { id, cluster } = next.target.node.node;
        const { spec } = next.record.job;
        // For a graph request the cluster is chosen first, and not by this policy.
        const [want] = fitting(world, spec, spec.request === undefined ? undefined : cluster)
          .map((name) => ({ name, last: given.lastIndexOf(name) }))
          .sort((a, b) => a.last - b.last || (a.name < b.name ? -1 : 1));
        expect(id).toBe(want?.name);
        given.push(id);
        const outcome = placeTask(world.state, next, world.nowMs);
        if (outcome.kind === "refused") throw new Error(describeRefusal(outcome.refusal));
        for (const change of outcome.changes) {
          world.apply(change);
          if (change.table === "task") running.push(change.row);
        }
      }
    }
  });
  fc.assert(property, { numRuns: 60 });
});
