import { describe, expect, test } from "vitest";

import { aSpec } from "../../../testing/builders.ts";
import { checkState, digest } from "../../../testing/check/check-state.ts";
import { World } from "../../../testing/world.ts";
import { requireOne, want } from "../../graph/testing/requests.ts";
import { nodeId } from "../../model/ids.ts";
import type { JobSpecInput } from "../../model/job/job-spec.ts";
import { cheapestChange } from "./cheapest-change.ts";
import { describeChange, describeClusterReasons } from "./describe.ts";
import { clusterAnswers } from "./places.ts";
import { createPolicy } from "../policy.ts";
import { cores, join, register, submit, tell } from "../testing/worlds.ts";
import { dryRun } from "./dry-run.ts";

const policy = createPolicy({ policy: "spread" }, () => 0);
const bounds = { candidatesMax: 8, placementsMax: 100, stepsMax: 1e6, nowMs: 0 };

const answers = (world: World, input: Partial<JobSpecInput>): readonly string[] =>
  clusterAnswers(world.state, aSpec(input), policy).map(({ cluster, verdict, reasons }) =>
    [cluster, verdict, ...describeClusterReasons(reasons)].join("; "),
  );

const change = (world: World, input: Partial<JobSpecInput>): string | undefined => {
  const found = cheapestChange(world.state, aSpec(input), policy);
  return found && describeChange(found);
};

function drain(world: World, name: string): void {
  world.do({ kind: "drain-node", nodeId: nodeId(name), drain: { reason: "" } });
}

const whenFree = (filter: string) => ({
  strategy: "constraint",
  options: { priorities: [{ priority: 1, steps: [{ filter }] }] },
});

const withIo = (count: number) => [
  [want(1, "node", [want(count, "core")], { requires: [requireOne("io", "type", "shm")] })],
];

describe("answers of clusters to a request", () => {
  const world = new World();
  join(world, "a1", { cpu: 4_000 }, "a");
  join(world, "a2", { cpu: 2_000 }, "a");
  register(world, "blue", 2, 8);
  register(world, "red", 1, 2);
  tell(world, "blue", { nodes_free: 0 });

  test.each<[string, Partial<JobSpecInput>, readonly string[]]>([
    [
      "a graph that has it is enough for those that pull",
      { request: cores(3) },
      ["a; yes", "blue; yes", "red; never; the node has 2 cores, 3 requested"],
    ],
    [
      "nodes are told by what they say most",
      { request: cores(9) },
      [
        "a; never; 1 node: the node has 2 cores, 9 requested; 1 node: the node has 4 cores, 9 requested",
        "blue; never; 2 nodes have 8 cores, 9 requested",
        "red; never; the node has 2 cores, 9 requested",
      ],
    ],
    [
      "plain jobs are for nodes",
      { resources: { cpu: 1 } },
      [
        "a; yes",
        "blue; never; runs only jobs that name it or request parts of a graph",
        "red; never; runs only jobs that name it or request parts of a graph",
      ],
    ],
    [
      "what a cluster says of itself counts",
      { request: cores(1), select: whenFree("nodes_free > 0"), placement: { cluster: "blue" } },
      [
        "a; never; 2 nodes: not in cluster blue",
        "blue; not-now; priority 1: nodes_free > 0: is false",
        "red; never; not the requested cluster (blue)",
      ],
    ],
    [
      "labels and nodes are asked of nodes",
      { request: cores(1), placement: { node: "a2" } },
      [
        "a; yes",
        "blue; never; the job requests a node or labels, and a pull cluster chooses its nodes itself",
        "red; never; the job requests a node or labels, and a pull cluster chooses its nodes itself",
      ],
    ],
  ])("%s", (_, input, want) => {
    expect(answers(world, input)).toEqual(want);
  });
});

describe("the cheapest single change", () => {
  test("is none when a running task only has to end", () => {
    const world = new World();
    join(world, "a", { cpu: 4_000 });
    submit(world, { resources: { cpu: 3 } });
    world.plan();
    expect(change(world, { resources: { cpu: 2 } })).toBe(
      "none: it fits when task 1 on node a ends",
    );
    expect(change(world, { request: cores(2) })).toContain("task 1 on node a ends");
  });

  test("is to use an existing node", () => {
    const world = new World();
    join(world, "a", { cpu: 4_000 });
    drain(world, "a");
    expect(change(world, { resources: { cpu: 4 } })).toContain("undrain node a");
    expect(change(world, { resources: { cpu: 5 } })).toBeUndefined();
    world.do({ kind: "disconnect-node", nodeId: nodeId("a"), session: 1, nowMs: 2 });
    expect(change(world, { resources: { cpu: 4 } })).toContain("reconnect node a");
  });

  test("is to repair an unhealthy node, which undrain does not", () => {
    const world = new World();
    join(world, "a", { cpu: 4_000 });
    const sickness = "the disk is full";
    world.do({ kind: "report-health", nodeId: nodeId("a"), session: 1, sickness, nowMs: 2 });
    expect(change(world, { resources: { cpu: 4 } })).toBe("repair node a: the disk is full");
    drain(world, "a");
    expect(change(world, { resources: { cpu: 4 } })).toContain("undrain node a");
  });

  test("is the smallest reduction of the request", () => {
    const world = new World();
    join(world, "a", { cpu: 4_000, memory: 4 * 1024 ** 3 });
    join(world, "b", { cpu: 3_000, memory: 64 * 1024 ** 3 });
    const gib = 1024 ** 3;
    expect(change(world, { resources: { cpu: 4, memory: 8 * gib } })).toBe(
      "ask for 3 cpu instead of 4 cpu: node b has that free",
    );
    expect(change(world, { resources: { cpu: 4, memory: 5 * gib } })).toBe(
      "ask for 4 GiB memory instead of 5 GiB memory: node a has that free",
    );
    expect(change(world, { request: cores(6) })).toBe("ask for 4 instead of 6 of core");
  });

  test("is another place, or one requirement less", () => {
    const world = new World();
    join(world, "a", { cpu: 4_000 }, "x");
    register(world, "blue", 1, 2);
    expect(change(world, { request: cores(3), placement: { cluster: "y" } })).toBe(
      "do not ask for cluster y",
    );
    expect(change(world, { placement: { node: "z" } })).toBe("do not ask for node z");
    expect(change(world, { placement: { labels: { zone: "n" } } })).toBe(
      "do not ask for label zone=n",
    );
    expect(change(world, { request: withIo(4) })).toBe("do not require io type=shm of the node");
    expect(change(world, { request: withIo(5) })).toBeUndefined();
  });

  test("is another reported state of a cluster", () => {
    const world = new World();
    register(world, "blue", 1, 2);
    tell(world, "blue", { nodes_free: 0 });
    const select = whenFree("nodes_free > 0");
    expect(change(world, { request: cores(1), select })).toBe(
      "another state of cluster blue: priority 1: nodes_free > 0: is false",
    );
  });
});

describe("dry runs", () => {
  test("place as the planner would, and leave nothing behind", () => {
    const world = new World();
    join(world, "a", { cpu: 2_000 });
    join(world, "b", { cpu: 3_000 });
    register(world, "blue", 2, 8);
    const id = world.state.clusters.inOrder.find(({ kind }) => kind === "pulling")?.id;
    if (id === undefined) throw new Error("no cluster");
    const counters = [{ key: "nodes_free", by: "nodes" }] as const;
    world.do({ kind: "set-status", id, patch: { nodes_free: 2 }, counters, nowMs: 3 });
    const before = digest(world.state);
    const specs = [
      aSpec({ array: "0-9" }),
      aSpec({
        request: cores(8),
        array: "5-9",
        select: whenFree("nodes_free > 0"),
      }),
    ];
    const trials = dryRun(world.state, specs, policy, bounds);
    const shown = trials.map(({ placements, ...rest }) => ({
      ...rest,
      to: placements.map(({ index, target }) =>
        target.kind === "node" ? `${index} ${target.node.node.id}` : `${index} ${target.cluster}`,
      ),
    }));
    expect(shown).toEqual([
      {
        tasks: 10,
        waitsFor: "capacity",
        to: ["0 b", "1 a", "2 b", "3 a", "4 b"],
      },
      { tasks: 5, waitsFor: "capacity", to: ["5 blue", "6 blue"] },
    ]);
    expect(digest(world.state)).toEqual(before);
    expect(checkState(world.state)).toEqual([]);
    submit(world, { array: "0-9" });
    expect(world.plan()).toHaveLength(5);
  });

  test("respect the limits of groups and arrays, and their own", () => {
    const world = new World();
    join(world, "a", { cpu: 64_000 });
    world.do({ kind: "put-group", id: aSpec({ group: "g" }).group, runningTasksMax: 3 });
    submit(world, { group: "g" });
    world.plan();
    const specs = [
      aSpec({ group: "g", array: "0-9" }),
      aSpec({ array: "0-9%2" }),
      aSpec({ array: "0-1%2" }),
      aSpec({ array: "0-9" }),
    ];
    const trials = dryRun(world.state, specs, policy, { ...bounds, placementsMax: 9 });
    expect(trials.map(({ placements, waitsFor }) => [placements.length, waitsFor])).toEqual([
      [2, "group"],
      [2, "array"],
      [2, undefined],
      [3, undefined],
    ]);
  });
});

describe("unsatisfiable jobs", () => {
  const possible = (world: World, input: Partial<JobSpecInput>) => {
    const submissions = [{ spec: aSpec(input), idempotencyKey: undefined }];
    const command = { kind: "submit-jobs", submissions, by: "t", nowMs: 1 } as const;
    return () => void world.do({ ...command, mustBePossible: true });
  };

  test("are rejected with the reasons, until nodes or clusters change", () => {
    const world = new World();
    join(world, "a", { cpu: 2_000 });
    register(world, "blue", 1, 4);
    expect(possible(world, { resources: { cpu: 3 } })).toThrow(
      "jobs[0]: no registered node or cluster can run this job: 1 node: too small: has 2 cpu, 3 cpu requested",
    );
    expect(possible(world, { request: cores(5) })).toThrow("cluster blue: the node has 4 cores");
    expect(world.state.jobs.size).toBe(0);
    join(world, "b", { cpu: 5_000 });
    possible(world, { resources: { cpu: 3 } })();
    possible(world, { request: cores(5) })();
    drain(world, "b"); // may come back
    possible(world, { request: cores(5) })();
    expect(world.state.jobs.size).toBe(3);
  });

  test("are accepted while nothing is registered yet", () => {
    const world = new World();
    possible(world, { resources: { cpu: 3 } })();
    possible(world, { request: cores(3) })();
    register(world, "blue", 1, 4);
    possible(world, { resources: { cpu: 300 } })(); // for a node that has yet to join
    expect(possible(world, { request: cores(5) })).toThrow("the node has 4 cores, 5 requested");
  });
});
