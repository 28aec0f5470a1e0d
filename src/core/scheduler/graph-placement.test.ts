import { describe, expect, test } from "vitest";

import { aHello, aSpec } from "../../testing/builders.ts";
import { checkState, digest, readBack } from "../../testing/check/check-state.ts";
import { World } from "../../testing/world.ts";
import { requireOne, want } from "../graph/testing/requests.ts";
import type { ResourceChoice } from "../graph/request/request.ts";
import { parseSubsystem } from "../graph/subsystems/subsystem.ts";
import { aDocument } from "../graph/testing/documents.ts";
import { clusterId, jobId, nodeId } from "../model/ids.ts";
import { NO_FACTS, type Software } from "../model/node/node-facts.ts";
import type { Resources } from "../model/resources.ts";
import { isWaiting } from "./request.ts";
import { isEverPossible } from "../state/decide/tasks/check-possible.ts";
import { cores, join, register, submit, tell, whereTo } from "./testing/worlds.ts";

/** The nodes of the placed tasks. Also checks that a restart restores the same state. */
function plan(world: World): string[] {
  const placed = world.plan().map(whereTo);
  expect(checkState(world.state)).toEqual([]);
  expect(digest(readBack(world.changes))).toEqual(digest(world.state));
  return placed;
}

const taken = (world: World, id: number): Resources | undefined =>
  world.state.task({ jobId: jobId(id), index: 0 })?.takes;

describe("graph requests on nodes", () => {
  test("take what they request, and wait when it is not free", () => {
    const world = new World();
    join(world, "a", { cpu: 4_000, memory: 8e9 });
    submit(world, { request: cores(3), array: "0-1" });
    expect(plan(world)).toEqual(["a"]);
    expect(taken(world, 1)).toEqual({ cpu: 3_000 });
    world.report("a", [1, 0, 1], 0);
    expect(plan(world)).toEqual(["a"]);
    world.report("a", [1, 1, 1], 0);
    expect(plan(world)).toEqual([]);
    const [node] = world.state.nodes.values();
    expect(node?.free).toEqual({ cpu: 4_000, memory: 8e9 });
  });

  test("go to no node that is too small, however much the others have together", () => {
    const world = new World();
    join(world, "a", { cpu: 4_000 });
    join(world, "b", { cpu: 4_000 });
    submit(world, { request: cores(5) });
    expect(plan(world)).toEqual([]);
    join(world, "c", { cpu: 6_000 });
    expect(plan(world)).toEqual(["c"]);
  });

  test("take the first alternative that is free, each with its own amounts", () => {
    const world = new World();
    join(world, "a", { cpu: 8_000, gpu: 1 });
    const gpu = want(1, "node", [want(1, "gpu")]);
    submit(world, { request: [[gpu], ...cores(3)], array: "0-3" });
    expect(plan(world)).toEqual(["a", "a", "a"]);
    const takes = [0, 1, 2].map((index) => world.state.task({ jobId: jobId(1), index })?.takes);
    expect(takes).toEqual([{ cpu: 1_000, gpu: 1 }, { cpu: 3_000 }, { cpu: 3_000 }]);
    const [node] = world.state.nodes.values();
    expect(node?.free).toEqual({ cpu: 1_000, gpu: 0 });
  });

  test("a whole node is shared with no other task", () => {
    const world = new World();
    join(world, "a", { cpu: 4_000, memory: 100, power: 7 });
    submit(world, { resources: { cpu: 1 } });
    expect(plan(world)).toEqual(["a"]);
    submit(world, { request: [[want(1, "node", [want(1, "core")], { isExclusive: true })]] });
    submit(world, { resources: { cpu: 1 } });
    expect(plan(world)).toEqual(["a"]);
    world.report("a", [1, 0, 1], 0);
    world.report("a", [3, 0, 1], 0);
    expect(plan(world)).toEqual(["a"]);
    expect(taken(world, 2)).toEqual({ cpu: 4_000, memory: 100, power: 7 });
    const [node] = world.state.nodes.values();
    world.report("a", [2, 0, 1], 0);
    expect(node?.free).toEqual({ cpu: 4_000, memory: 100, power: 7 });
    submit(world, { request: [[want(1, "node")]] });
    expect(plan(world)).toEqual(["a"]);
    submit(world, { resources: { cpu: 0.1 } });
    expect(plan(world)).toEqual([]);
  });

  test("plain amounts go to nodes, and to pull clusters too if the job says any", () => {
    const world = new World();
    submit(world, { resources: { cpu: 2 }, placement: { kind: "any" }, array: "0-1" });
    submit(world, { resources: { cpu: 2 } });
    expect(plan(world)).toEqual([]);
    join(world, "a", { cpu: 2_000 });
    expect(plan(world)).toEqual(["a"]); // one task fills it
    register(world, "blue", 4);
    expect(plan(world)).toEqual(["cluster blue"]);
    world.report("a", [1, 0, 1], 0);
    expect(plan(world)).toEqual(["a"]); // job 2 means nodes
  });

  test("the least loaded of several clusters gets the task", () => {
    const world = new World();
    join(world, "a1", { cpu: 9_000 }, "a");
    join(world, "b1", { cpu: 9_000 }, "b");
    submit(world, { request: cores(1), array: "0-3" });
    expect(plan(world)).toEqual(["a1", "b1", "a1", "b1"]);
    submit(world, { request: cores(1), array: "0-1", placement: { cluster: "b" } });
    expect(plan(world)).toEqual(["b1", "b1"]);
  });
});

describe("alternatives", () => {
  test("the preferred alternative goes first, on any node or cluster", () => {
    const world = new World();
    join(world, "a", { cpu: 8_000 });
    join(world, "b", { cpu: 2_000, gpu: 1 });
    const gpu = [want(1, "node", [want(1, "gpu")])];
    submit(world, { request: [gpu, ...cores(1)], array: "0-2" });
    expect(plan(world)).toEqual(["b", "a", "a"]);
    register(world, "blue", 2, 64);
    submit(world, { request: [...cores(64), ...cores(1)] });
    expect(plan(world)).toEqual(["cluster blue"]);
  });

  test("where the preferred cluster is not good enough the next one is tried", () => {
    const world = new World();
    register(world, "blue", 2, 64);
    register(world, "red", 2, 4);
    tell(world, "red", { nodes_free: 1 });
    const options = { priorities: [{ priority: 1, steps: [{ filter: "nodes_free > 0" }] }] };
    const select = { strategy: "constraint", options };
    submit(world, { request: [...cores(64), ...cores(1)], select });
    expect(plan(world)).toEqual(["cluster red"]);
  });
});

describe("requirements on nodes", () => {
  const needs = (subsystem: string, field: string, value: string): ResourceChoice => [
    [want(1, "node", [want(1, "core")], { requires: [requireOne(subsystem, field, value)] })],
  ];
  const withSoftware = (world: World, name: string, software: Software): void => {
    const facts = { ...NO_FACTS, software };
    const session = world.state.nodes.size + 1;
    world.do({ kind: "connect-node", ...aHello(name, { session, facts }) });
  };

  test("are met by facts that agents report", () => {
    const world = new World();
    withSoftware(world, "a", { os: [{ name: "debian", version: "12" }] });
    withSoftware(world, "b", { os: [{ name: "rocky", version: "9" }] });
    submit(world, { request: needs("os", "name", "rocky"), array: "0-1" });
    expect(plan(world)).toEqual(["b", "b"]);
    submit(world, { request: needs("os", "name", "arch") });
    expect(plan(world)).toEqual([]);
  });

  test("are checked again when an agent reports other facts", () => {
    const world = new World();
    withSoftware(world, "a", { os: [{ name: "debian" }] });
    submit(world, { request: needs("mpi", "name", "openmpi") });
    expect(plan(world)).toEqual([]);
    const facts = { ...NO_FACTS, software: { mpi: [{ name: "openmpi" }] } };
    const possible = () =>
      isEverPossible(world.state, aSpec({ request: needs("mpi", "name", "openmpi") }));
    expect(possible()).toBe(false);
    world.do({ kind: "put-facts", nodeId: nodeId("a"), session: 1, facts });
    expect(possible()).toBe(true);
    expect(plan(world)).toEqual(["a"]);
  });

  test("are met by software that was added to the cluster, for all nodes or for one", () => {
    const world = new World();
    withSoftware(world, "a", {});
    withSoftware(world, "b", {});
    submit(world, { request: needs("io", "type", "shm"), array: "0-1" });
    submit(world, { request: needs("net", "type", "ib"), array: "0-1" });
    expect(plan(world)).toEqual([]);
    const id = clusterId("default");
    const one = [{ node: "b", entry: { type: "shm" } }];
    world.do({ kind: "declare-software", row: { id, name: "io", entries: one } });
    expect(plan(world)).toEqual(["b", "b"]);
    world.do({
      kind: "declare-software",
      row: { id, name: "net", entries: [{ entry: { type: "ib" } }] },
    });
    expect(plan(world)).toEqual(["a", "a"]);
  });

  test("parts of a machine must be large enough, and free capacity is compared by amounts", () => {
    const world = new World();
    const facts = { ...NO_FACTS, sockets: 2 };
    world.do({
      kind: "connect-node",
      ...aHello("a", { capacity: { cpu: 8_000 }, session: 1, facts }),
    });
    const ofSocket = (count: number): ResourceChoice => [
      [want(1, "socket", [want(count, "core")])],
    ];
    submit(world, { request: ofSocket(5) });
    submit(world, { request: ofSocket(3), array: "0-2" });
    expect(plan(world)).toEqual(["a", "a"]);
    submit(world, { request: [[want(1, "socket")]] });
    world.report("a", [2, 0, 1], 0);
    world.report("a", [2, 1, 1], 0);
    expect(plan(world)).toEqual(["a", "a"]);
    expect(taken(world, 3)).toEqual({ cpu: 4_000 });
  });
});

describe("pull clusters", () => {
  test("are offered what their graph has, by the totals", () => {
    const world = new World();
    register(world, "blue", 2, 4);
    submit(world, { request: cores(4), array: "0-4" });
    submit(world, { request: cores(5) });
    expect(plan(world)).toEqual(Array.from({ length: 5 }, () => "cluster blue"));
    register(world, "large", 1, 8);
    expect(plan(world)).toEqual(["cluster large"]);
  });

  test("may get requests that span nodes", () => {
    const world = new World();
    join(world, "a", { cpu: 64_000 });
    register(world, "blue", 2, 4);
    submit(world, { request: [[want(2, "node", [want(2, "core")])]] });
    expect(plan(world)).toEqual(["cluster blue"]);
  });

  test("get plain jobs only when these name them", () => {
    const world = new World();
    register(world, "blue");
    submit(world, { resources: { cpu: 2 } });
    expect(plan(world)).toEqual([]);
    submit(world, { resources: { cpu: 2 }, placement: { cluster: "blue" } });
    submit(world, { resources: { cpu: 5 }, placement: { cluster: "blue" } });
    expect(plan(world)).toEqual(["cluster blue"]);
  });

  test("get plain jobs that named them before they were registered", () => {
    const world = new World();
    join(world, "a", { cpu: 4_000 });
    submit(world, { placement: { cluster: "blue" } });
    expect(plan(world)).toEqual([]);
    const [request] = [world.state.queue.classOf(aSpec({ placement: { cluster: "blue" } }))];
    expect(request && isWaiting(request)).toBe(true);
    register(world, "blue");
    expect(plan(world)).toEqual(["cluster blue"]);
  });

  test("adding a subsystem wakes the jobs that waited for it", () => {
    const world = new World();
    register(world, "blue");
    const requires = [requireOne("io", "type", "shm")];
    submit(world, { request: [[want(1, "node", [want(1, "core")], { requires })]] });
    expect(plan(world)).toEqual([]);
    const id = clusterId("blue");
    const graph = world.state.clusters.graphs.graph(id);
    const subsystem = parseSubsystem("io", aDocument({ io0: "shm" }, [["1", "io0"]]), graph);
    world.do({ kind: "put-subsystems", id, subsystems: [subsystem], graph });
    expect(plan(world)).toEqual(["cluster blue"]);
  });

  test("their reported state decides, and is read again when it changes", () => {
    const world = new World();
    register(world, "blue");
    register(world, "red");
    const priorities = [{ priority: 1, steps: [{ filter: "nodes_free >= wanted" }] }];
    const select = { strategy: "constraint", options: { priorities }, parameters: { wanted: 2 } };
    submit(world, { request: cores(1), select, array: "0-1" });
    expect(plan(world)).toEqual([]);
    tell(world, "red", { nodes_free: 1 });
    expect(plan(world)).toEqual([]);
    tell(world, "red", { nodes_free: 2 });
    expect(plan(world)).toEqual(["cluster red", "cluster red"]);
  });

  for (const placement of [{ node: "a" }, { labels: { zone: "z" } }, { cluster: "default" }]) {
    test(`so does a cluster with agents, of one that asks for ${Object.keys(placement)[0]}`, () => {
      const world = new World();
      const labels = { zone: "z" };
      world.do({ kind: "connect-node", ...aHello("a", { session: 1, labels }) });
      const priorities = [{ priority: 1, steps: [{ filter: "nodes_free > 0" }] }];
      const select = { strategy: "constraint", options: { priorities } };
      submit(world, { request: cores(1), select, placement });
      expect(plan(world)).toEqual([]);
      tell(world, "default", { nodes_free: 1 });
      expect(plan(world)).toEqual(["a"]);
    });
  }

  test("counters go down with every task, and the filter sees it", () => {
    const world = new World();
    register(world, "blue");
    const id = clusterId("blue");
    const counters = [{ key: "free", by: "nodes" }] as const;
    world.do({ kind: "set-status", id, patch: { free: 3 }, counters, nowMs: 5 });
    const priorities = [{ priority: 1, steps: [{ filter: "free >= 2" }] }];
    const select = { strategy: "constraint", options: { priorities } };
    submit(world, { request: [[want(2, "node", [want(1, "core")])]], select, array: "0-1" });
    expect(plan(world)).toEqual(["cluster blue"]);
    expect(world.state.clusters.statusOf(id).state).toEqual({ free: { value: 1, setAtMs: 5 } });
    tell(world, "blue", { free: 9 });
    expect(plan(world)).toEqual(["cluster blue"]);
  });

  test("an offered task that no cluster accepts expires with its job's deadline", () => {
    const world = new World();
    register(world, "blue");
    submit(world, { request: cores(1), array: "0-1", queueDeadlineMs: 100 });
    expect(plan(world)).toEqual(["cluster blue", "cluster blue"]);
    const settings = { nodeLostAfterMs: 1e6, finishedTasksMax: 1e6, finishedAgeMsMax: 1e9 };
    world.nowMs += 101;
    world.do({ kind: "tick", nowMs: world.nowMs, settings });
    expect(world.state.jobs.get(jobId(1))?.progress).toMatchObject({
      state: "expired",
      counts: { expired: 2, offered: 0 },
    });
    expect(plan(world)).toEqual([]);
    expect(world.state.clusters.loads.tasksOf(clusterId("blue"))).toBe(0);
    const cancel = { kind: "cancel-job", jobId: jobId(1), reason: "", by: "t", nowMs: 9 } as const;
    world.do({ ...cancel, index: 1 });
    expect(world.state.jobs.get(jobId(1))?.progress.counts).toMatchObject({ expired: 2 });
  });

  test("an offered task is queued again when the cluster is deleted, and can be cancelled", () => {
    const world = new World();
    register(world, "blue");
    submit(world, { request: cores(1), array: "0-2" });
    plan(world);
    const cancel = { kind: "cancel-job", jobId: jobId(1), reason: "", by: "t", nowMs: 9 } as const;
    world.do({ ...cancel, index: 1 });
    world.do({ kind: "remove-cluster", id: clusterId("blue"), nowMs: world.nowMs });
    expect(plan(world)).toEqual([]);
    // Nothing of it has begun except the cancelled task.
    expect(world.state.jobs.get(jobId(1))?.progress.counts).toMatchObject({
      pending: 2,
      waiting: 0,
    });
    join(world, "a", { cpu: 1_000 });
    expect(plan(world)).toEqual(["a"]);
    register(world, "red");
    expect(plan(world)).toEqual(["cluster red"]);
    world.do({ ...cancel, index: undefined });
    expect(world.state.jobs.get(jobId(1))?.progress.counts).toMatchObject({
      cancelled: 2,
      stopping: 1,
    });
    expect(plan(world)).toEqual([]);
  });
});
