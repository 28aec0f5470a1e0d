import { describe, expect, test } from "vitest";
import { aSpec } from "../../testing/builders.ts";
import { World } from "../../testing/world.ts";
import { clusterId, groupId, jobId, nodeId } from "../model/ids.ts";
import type { JobRecord } from "../state/jobs/job-record.ts";
import { NodeRecord } from "./nodes/node-record.ts";
import type { Target } from "./clusters/choose-cluster.ts";
import { describeRefusal } from "./explain/describe.ts";
import { cores, join, register, submit } from "./testing/worlds.ts";
import { type PlacementRefusal, verify, verifyHold } from "./verify.ts";

const nodeIn = (world: World, name: string): NodeRecord =>
  world.state.nodes.get(nodeId(name)) ?? expect.fail(`no node ${name}`);

const jobIn = (world: World, id = 1): JobRecord =>
  world.state.jobs.open(jobId(id)) ?? expect.fail(`no job ${id}`);

const on = (world: World, name: string): Target => ({ kind: "node", node: nodeIn(world, name) });

interface Case {
  readonly name: string;
  readonly prepare: (world: World) => { index?: number; target?: Target; record?: JobRecord };
  readonly refusal: PlacementRefusal | undefined;
  readonly text?: string;
}

/** Node a with 2 cpus; job 1 is an array of two tasks with one cpu each. */
const cases: readonly Case[] = [
  { name: "a task that fits", prepare: () => ({}), refusal: undefined },
  {
    name: "a second placement",
    prepare(world) {
      world.plan(1);
      return {};
    },
    refusal: { kind: "task-placed", state: "assigned" },
    text: "task is assigned already",
  },
  {
    name: "an index that the array does not have",
    prepare: () => ({ index: 7 }),
    refusal: { kind: "task-unknown" },
  },
  {
    name: "a job that is not in the table",
    prepare(world) {
      submit(world, {});
      const other = jobIn(world, 2);
      world.do({ kind: "tick", nowMs: 1, settings: NEVER });
      world.state.jobs.delete(jobId(2));
      return { record: other };
    },
    refusal: { kind: "job-unknown" },
  },
  {
    name: "a job that was cancelled",
    prepare(world) {
      const cancel = { jobId: jobId(1), index: undefined, reason: "r", by: "me", nowMs: 9 };
      world.do({ kind: "cancel-job", ...cancel });
      return {};
    },
    refusal: { kind: "job-closed", state: "cancelled" },
    text: "the job is cancelled",
  },
  {
    name: "a group at its limit",
    prepare(world) {
      world.do({ kind: "put-group", id: groupId("default"), runningTasksMax: 1 });
      world.plan(1);
      return { index: 1 };
    },
    refusal: { kind: "group-full", runningTasksMax: 1 },
  },
  {
    name: "a node that was removed",
    prepare(world) {
      const gone = new NodeRecord(nodeIn(world, "a").node);
      return { target: { kind: "node", node: gone } };
    },
    refusal: { kind: "node-unknown", node: nodeId("a") },
  },
  {
    name: "a node that takes no tasks",
    prepare(world) {
      world.do({ kind: "disconnect-node", nodeId: nodeId("a"), session: 1, nowMs: 0 });
      return {};
    },
    refusal: {
      kind: "node-refuses",
      node: nodeId("a"),
      reason: { kind: "not-ready", state: "disconnected", why: undefined },
    },
    text: "node a: disconnected",
  },
  {
    name: "a full node",
    prepare(world) {
      submit(world, { resources: { cpu: 2 }, priority: 9 });
      expect(world.plan(1).map(({ jobId: id }) => id)).toEqual([2]);
      return {};
    },
    refusal: {
      kind: "node-refuses",
      node: nodeId("a"),
      reason: { kind: "busy", resource: "cpu", free: 0, asked: 1_000 },
    },
    text: "node a: busy: 0 cpu free, 1 cpu requested",
  },
  {
    name: "a full node that the planner takes for an empty one",
    prepare(world) {
      submit(world, { resources: { cpu: 2 }, priority: 9 });
      const [task] = world.plan(1);
      const record = nodeIn(world, "a");
      if (task !== undefined) record.release(task, { cpu: 2_000 }, undefined);
      expect(record.free).toEqual({ cpu: 2_000 });
      return {};
    },
    refusal: {
      kind: "node-refuses",
      node: nodeId("a"),
      reason: { kind: "busy", resource: "cpu", free: 0, asked: 1_000 },
    },
  },
  {
    name: "a node with another label",
    prepare(world) {
      submit(world, { placement: { labels: { zone: "w" } } });
      return { record: jobIn(world, 2) };
    },
    refusal: {
      kind: "node-refuses",
      node: nodeId("a"),
      reason: { kind: "other-label", name: "zone", asked: "w" },
    },
  },
  {
    name: "a cluster that is unknown",
    prepare: () => ({ target: { kind: "cluster", cluster: clusterId("blue") } }),
    refusal: { kind: "cluster-unknown", cluster: "blue" },
  },
  {
    name: "a cluster for a job that asks for nodes",
    prepare(world) {
      register(world, "blue");
      return { target: { kind: "cluster", cluster: clusterId("blue") } };
    },
    refusal: {
      kind: "cluster-refuses",
      cluster: "blue",
      reasons: [{ kind: "not-asked-for" }],
    },
  },
  {
    name: "a cluster that has what is asked for",
    prepare(world) {
      register(world, "blue");
      submit(world, { request: cores(4) });
      return { record: jobIn(world, 2), target: { kind: "cluster", cluster: clusterId("blue") } };
    },
    refusal: undefined,
  },
];

const NEVER = { nodeLostAfterMs: 1e9, finishedAgeMsMax: 1e9, finishedTasksMax: 1e9 };

function aWorld(): World {
  const world = new World();
  join(world, "a", { cpu: 2_000 });
  submit(world, { array: "0-1" });
  return world;
}

describe("verify", () => {
  for (const { name, prepare, refusal, text } of cases) {
    test(name, () => {
      const world = aWorld();
      const { record = jobIn(world), index = 0, target = on(world, "a") } = prepare(world);
      const found = verify(world.state, { record, index, target });
      expect(found).toEqual(refusal);
      if (text !== undefined && found !== undefined) expect(describeRefusal(found)).toBe(text);
    });
  }

  test("too large for the cluster: the refusal of its graph", () => {
    const world = aWorld();
    register(world, "blue");
    submit(world, { request: cores(99) });
    const target = { kind: "cluster", cluster: clusterId("blue") } as const;
    expect(verify(world.state, { record: jobIn(world, 2), index: 0, target })).toMatchObject({
      kind: "cluster-refuses",
      reasons: [{ kind: "graph", refusals: [{ asked: 99 }] }],
    });
  });

  test("a held task begins later: free capacity does not matter, all else does", () => {
    const world = aWorld();
    const hold = (record: JobRecord): PlacementRefusal | undefined =>
      verifyHold(world.state, { record, index: 0, node: nodeIn(world, "a") });
    expect(hold(jobIn(world))).toEqual({ kind: "node-holds-none", node: "a" });
    const { node } = nodeIn(world, "a");
    world.apply({ table: "node", row: { ...node, canHold: true } });
    submit(world, { resources: { cpu: 2 }, priority: 9 });
    world.plan(1);
    expect(hold(jobIn(world))).toBeUndefined();
    submit(world, { resources: { cpu: 3 } });
    expect(hold(jobIn(world, 3))).toMatchObject({ reason: { kind: "too-small" } });
    submit(world, { request: cores(1) });
    expect(hold(jobIn(world, 4))).toEqual({ kind: "graph-not-held" });
  });

  test("tasks with a graph request take what the rows leave free", () => {
    const world = aWorld();
    const spec = aSpec({ request: cores(1) });
    expect(spec.request).toBeDefined();
    submit(world, { request: cores(2), priority: 9 });
    const [row] = world.plan(1);
    expect(row?.takes).toEqual({ cpu: 2_000 });
    expect(world.state.ledger.heldOn(nodeId("a"))).toEqual({ cpu: 2_000 });
  });
});
