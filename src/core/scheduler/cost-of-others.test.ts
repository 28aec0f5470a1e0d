import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../testing/builders.ts";
import { World } from "../../testing/world.ts";
import { limits } from "../../limits.ts";
import { checkState } from "../../testing/check/check-state.ts";
import { parseGraph } from "../graph/jgf.ts";
import { documentOf } from "../graph/testing/documents.ts";
import { clusterId, groupId, jobId } from "../model/ids.ts";
import type { JobSpecInput } from "../model/job/job-spec.ts";
import { isActive, type Task } from "../model/job/task.ts";
import type { PlannerWork } from "./planner-work.ts";

// The cost of an event depends on what it changes, not on the size of everything else: each test
// compares counts of a small world with those of a large one, or with a constant bound.

const EVENTS = 40;
/** Steps in a tree of 10,000 for the few changes of one event. */
const TREE_STEPS_MAX = 250;

function submit(world: World, ...inputs: readonly Partial<JobSpecInput>[]): void {
  const submissions = inputs.map((input) => ({ spec: aSpec(input), idempotencyKey: undefined }));
  world.do({ kind: "submit-jobs", submissions, by: "t", nowMs: world.nowMs });
}

function join(world: World, name: string, options: Parameters<typeof aHello>[1] = {}): void {
  const session = world.state.nodes.size + 1;
  const capacity = { cpu: 8_000, memory: 1_000_000 };
  world.do({ kind: "connect-node", ...aHello(name, { capacity, session, ...options }) });
}

const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

/** The work of the planner per event. */
function workOf(world: World, events: number, event: (at: number) => void): PlannerWork {
  const { work } = world.state.fleet;
  const before = { ...work };
  for (let at = 0; at < events; at++) event(at);
  const names = Object.keys(before) as (keyof PlannerWork)[];
  const per = names.map((name) => [name, (work[name] - before[name]) / events]);
  return Object.fromEntries(per);
}

/** Tasks end one after the other, and after each exactly one is placed. The first end sorts all. */
function workPerEnd(world: World, running: Task[]): PlannerWork {
  const endOne = (): void => {
    const task = running.shift();
    if (task === undefined || !isActive(task.state)) throw new Error("nothing runs");
    world.report(task.state.nodeId, [task.jobId, task.index, task.attempt], 0);
    const placed = world.plan();
    expect(placed.length).toBe(1);
    running.push(...placed);
  };
  endOne();
  return workOf(world, EVENTS, endOne);
}

describe("one task ends on a full node", () => {
  /** Groups that all wait for the same capacity. */
  function endWith(groups: number, input: Partial<JobSpecInput> = {}): PlannerWork {
    const world = new World();
    join(world, "a");
    submit(world, ...times(groups, (at) => ({ ...input, group: `g${at}`, array: "0-99" })));
    return workPerEnd(world, world.plan());
  }

  test("the cost does not grow with the number of queued groups", () => {
    const [few, many] = [endWith(10), endWith(5_000)];
    expect(many.groupsRanked).toBeLessThanOrEqual(few.groupsRanked);
    expect(many.classesAsked).toBeLessThanOrEqual(few.classesAsked);
    expect(many.nodesLookedAt).toBeLessThanOrEqual(few.nodesLookedAt);
    expect(many.treeSteps).toBeLessThanOrEqual(TREE_STEPS_MAX);
    expect(few.groupsRanked).toBeLessThanOrEqual(3);
    expect(few.classesAsked).toBeLessThanOrEqual(2);
  });

  test("nor with queued groups that have a graph request", () => {
    const part = { unit: undefined, isSlot: false, isExclusive: false, label: undefined };
    const request = [[{ ...part, type: "core", count: 1, requires: [], with: [] }]];
    const many = endWith(2_000, { request });
    expect(many.classesAsked).toBeLessThanOrEqual(2);
    expect(many.treeSteps).toBeLessThanOrEqual(TREE_STEPS_MAX);
  });

  /** Classes that could all use the capacity that a task frees. */
  function endWithClasses(classes: number): PlannerWork {
    const world = new World();
    join(world, "a");
    submit(
      world,
      ...times(classes, (at) => ({ resources: { cpu: 1, memory: 1 + at }, array: "0-99" })),
    );
    return workPerEnd(world, world.plan());
  }

  test("nor with the queued classes that would fit", () => {
    const [few, many] = [endWithClasses(2), endWithClasses(4_000)];
    expect(many.classesAsked).toBeLessThanOrEqual(few.classesAsked);
    expect(many.nodesLookedAt).toBeLessThanOrEqual(few.nodesLookedAt);
    expect(many.treeSteps).toBeLessThanOrEqual(TREE_STEPS_MAX);
  });

  test("nor with older classes that are too large", () => {
    const world = new World();
    join(world, "a");
    submit(world, { array: "0-7" });
    const running = world.plan();
    submit(world, ...times(3_000, (at) => ({ resources: { cpu: 2 + at }, group: `g${at % 9}` })));
    submit(world, { array: "0-99", group: "last" });
    world.plan();
    const many = workPerEnd(world, running);
    expect(many.classesAsked).toBeLessThanOrEqual(2);
    expect(many.treeSteps).toBeLessThanOrEqual(TREE_STEPS_MAX);
  });
});

describe("groups at their limits", () => {
  const LIMITED = 300;

  function aWorld(): { world: World; running: Task[] } {
    const world = new World();
    join(world, "a", { capacity: { cpu: (LIMITED + 4) * 1_000 } });
    for (let at = 0; at < LIMITED; at++) {
      world.do({ kind: "put-group", id: groupId(`g${at}`), runningTasksMax: 1 });
    }
    submit(world, ...times(LIMITED, (at) => ({ group: `g${at}`, array: "0-9" })));
    world.plan();
    submit(world, { group: "working", array: "0-999" });
    return { world, running: world.plan() };
  }

  test("cost nothing, and leave no entries behind, while others work", () => {
    const { world, running } = aWorld();
    const entries = (): number => {
      const { groups, fleet } = world.state;
      const ready = [...groups.values()].reduce((sum, group) => sum + group.ready.size, 0);
      const parked = [...fleet.pools].map((pool) => [...pool.waiting.entries()].length);
      return parked.reduce((sum, count) => sum + count, ready);
    };
    expect(entries()).toBe(LIMITED + 1);
    const work = workPerEnd(world, running);
    expect(entries()).toBe(LIMITED + 1);
    expect(work.groupsRanked).toBeLessThanOrEqual(3);
    expect(work.classesAsked).toBeLessThanOrEqual(3);
    expect(work.treeSteps).toBeLessThanOrEqual(TREE_STEPS_MAX);
  });

  test("get capacity that became free while they were at the limit", () => {
    const { world, running } = aWorld();
    world.do({
      kind: "cancel-job",
      jobId: jobId(LIMITED + 1),
      index: undefined,
      reason: "",
      by: "t",
      nowMs: 1,
    });
    for (const { state, ...task } of running) {
      if (isActive(state)) world.report(state.nodeId, [task.jobId, task.index, task.attempt], 0);
    }
    expect(world.plan()).toEqual([]);
    world.do({ kind: "put-group", id: groupId("g7"), runningTasksMax: 3 });
    expect(world.plan().length).toBe(2);
  });
});

describe("jobs that are submitted one by one", () => {
  /** Each is placed and ends before the next is submitted. */
  function oneByOne(world: World, input: (at: number) => Partial<JobSpecInput>): PlannerWork {
    return workOf(world, EVENTS, (at) => {
      submit(world, input(at));
      const [task] = world.plan();
      if (task === undefined || !isActive(task.state)) throw new Error("not placed");
      world.report(task.state.nodeId, [task.jobId, task.index, task.attempt], 0);
    });
  }

  function fleetOf(nodes: number): World {
    const world = new World();
    for (let at = 0; at < nodes; at++) {
      join(world, `n${at}`, { cluster: `c${at % 20}`, labels: { own: `l${at}` } });
    }
    return world;
  }

  const places: Readonly<Record<string, (at: number) => Partial<JobSpecInput>>> = {
    "a node": (at) => ({ placement: { node: `n${at}` } }),
    "a label": (at) => ({ placement: { labels: { own: `l${at}` } } }),
    "nothing in particular": () => ({}),
  };
  for (const [name, input] of Object.entries(places)) {
    test(`and ask for ${name} look at no more nodes of a larger fleet`, () => {
      const world = fleetOf(2_000);
      oneByOne(world, input); // makes the pool that is retained
      const many = oneByOne(world, input).nodesLookedAt;
      expect(many).toBeLessThanOrEqual(32);
      if (name === "nothing in particular") return;
      expect(many).toBe(oneByOne(fleetOf(100), input).nodesLookedAt);
    });
  }

  test("with equal requests use one pool, however few nodes it has; another request replaces it", () => {
    const world = fleetOf(3);
    oneByOne(world, () => ({}));
    const { fleet } = world.state;
    const pools = [...fleet.pools];
    expect(pools.length).toBe(1);
    oneByOne(world, () => ({}));
    expect([...fleet.pools][0]).toBe(pools[0]);
    oneByOne(world, (at) => ({ placement: { node: `n${at % 3}` } }));
    expect(fleet.poolCount).toBe(1);
    expect(fleet.pools).not.toContain(pools[0]);
  });

  test("to pull clusters use the pools of earlier ones, while these are not too many", () => {
    const world = new World();
    const { fleet } = world.state;
    const inside = times(2, () => ({ type: "core" }));
    const graph = parseGraph(documentOf({ type: "cluster", inside }));
    const clusters = limits.emptyPoolsMax + 10;
    for (let at = 0; at < clusters; at++) {
      const id = clusterId(`p${at}`);
      world.do({ kind: "register-cluster", id, graph, isUpdate: false, nowMs: 5 });
    }
    const offer = (at: number): void => {
      submit(world, { placement: { cluster: `p${at}`, kind: "any" } });
      expect(world.plan().length).toBe(1);
    };
    for (let at = 0; at < 3; at++) offer(at);
    const pools = [...fleet.pools];
    for (let at = 0; at < 3; at++) offer(at);
    expect([...fleet.pools]).toEqual(pools);
    for (let at = 0; at < clusters; at++) offer(at);
    expect(fleet.poolCount).toBe(limits.emptyPoolsMax);
    const part = { unit: undefined, isSlot: false, isExclusive: false, label: undefined };
    for (let at = 1; at <= 2 * limits.poolsPerPlaceMax; at++) {
      const tree = { ...part, label: `l${at}`, type: "core", count: 1, requires: [], with: [] };
      submit(world, { request: [[tree]], placement: { cluster: "p0" } });
      expect(world.plan().length).toBe(1);
    }
    expect([...fleet.pools].some(({ isShared }) => isShared)).toBe(false);
    expect(checkState(world.state)).toEqual([]);
  });

  test("leave an empty pool, which a node that joins enters only if a job waits there", () => {
    const world = fleetOf(1);
    for (let id = 1; id <= 4 * limits.poolsPerPlaceMax; id++) {
      submit(world, { resources: { cpu: 1, licence: id }, placement: { node: `late${id % 4}` } });
      world.plan();
      const { nowMs } = world;
      const about = { jobId: jobId(id), index: undefined, reason: "", by: "t", nowMs };
      world.do({ kind: "cancel-job", ...about });
      expect(checkState(world.state)).toEqual([]);
    }
    const { fleet } = world.state;
    expect(fleet.poolCount).toBe(4);
    join(world, "late1", { capacity: { cpu: 8_000, licence: 100 } });
    expect(fleet.poolCount).toBe(3);
    const one = { cpu: 1, licence: 1 };
    submit(world, { resources: one, placement: { node: "late1" } });
    submit(world, { resources: one, placement: { node: "late2" } });
    expect(world.plan().length).toBe(1);
    join(world, "late2", { capacity: { cpu: 8_000, licence: 100 } });
    expect(world.plan().length).toBe(1);
    expect(checkState(world.state)).toEqual([]);
  });

  test("with graph requests search one cluster of many", () => {
    const part = { unit: undefined, isSlot: false, isExclusive: false, label: undefined };
    const request = [[{ ...part, type: "core", count: 1, requires: [], with: [] }]];
    const world = fleetOf(2_000);
    oneByOne(world, () => ({ request }));
    expect(oneByOne(world, () => ({ request })).nodesLookedAt).toBeLessThanOrEqual(3 * 32);
  });
});

describe("graph requests that all differ", () => {
  const NODES = 100;
  const part = { unit: undefined, isSlot: false, isExclusive: false, label: undefined };
  const cores = (count: number) => [[{ ...part, type: "core", count, requires: [], with: [] }]];

  /** Requests for more than any node has. */
  function greedy(requests: number): { world: World; perRequest: PlannerWork } {
    const world = new World();
    for (let at = 0; at < NODES; at++) join(world, `n${at}`);
    const perRequest = workOf(world, requests, (at) => submit(world, { request: cores(9 + at) }));
    world.plan();
    return { world, perRequest };
  }

  const members = ({ state }: World): number =>
    [...state.fleet.pools].reduce((sum, pool) => sum + pool.nodes.size, 0);

  test("use memory for a bounded number of them, whatever they request", () => {
    const { world, perRequest } = greedy(2_000);
    expect(world.state.queue.classCount).toBe(2_000);
    expect(world.state.fleet.poolCount).toBeLessThanOrEqual(limits.poolsPerPlaceMax + 1);
    expect(members(world)).toBeLessThanOrEqual((limits.poolsPerPlaceMax + 1) * NODES);
    // Filling the existing pools, and no look at any node for the others.
    expect(perRequest.nodesLookedAt * 2_000).toBe((limits.poolsPerPlaceMax + 1) * NODES);
  });

  test("are compared with a freed node once each, without repeated searches", () => {
    const perEnd = (requests: number): PlannerWork => {
      const world = new World();
      join(world, "a");
      submit(world, { array: "0-999" });
      const running = world.plan();
      submit(world, ...times(requests, (at) => ({ request: cores(9 + at) })));
      world.plan();
      return workPerEnd(world, running);
    };
    const [few, many] = [perEnd(100), perEnd(1_000)];
    expect(many.nodesLookedAt).toBeLessThanOrEqual(12 * few.nodesLookedAt);
    expect(many.classesAsked).toBeLessThanOrEqual(12 * few.classesAsked);
    expect(many.treeSteps).toBeLessThanOrEqual(12 * few.treeSteps);
  });

  test("a node that joins is compared with as many pools, and gets their tasks", () => {
    const { world } = greedy(300);
    const joined = workOf(world, 1, () => join(world, "big", { capacity: { cpu: 60_000_000 } }));
    expect(joined.poolsAsked).toBeLessThanOrEqual(limits.poolsPerPlaceMax + 1);
    expect(world.plan().length).toBe(300);
    expect(world.state.fleet.poolCount).toBeLessThanOrEqual(8); // that are retained
  });
});

describe("a node that joins", () => {
  test("is compared only with pools that could hold it", () => {
    const world = new World();
    submit(
      world,
      ...times(500, (at) => ({ placement: { node: `n${at}` } })),
      ...times(500, (at) => ({ placement: { cluster: `c${at}` } })),
      ...times(500, (at) => ({ placement: { labels: { own: `l${at}` } } })),
      ...times(500, (at) => ({ resources: { [`licence${at}`]: 1 } })),
    );
    world.plan();
    const work = workOf(world, 20, (at) => {
      const labels = { own: `l${at}` };
      const capacity = { cpu: 8_000, [`licence${at}`]: 1 };
      join(world, `n${at}`, { cluster: `c${at}`, labels, capacity });
    });
    expect(work.poolsAsked).toBe(4);
    expect(world.plan().length).toBe(20 * 4);
  });

  test("ranks every queued group once, however many nodes join together", () => {
    const world = new World();
    submit(world, ...times(1_000, (at) => ({ group: `g${at}`, resources: { cpu: 99 } })));
    world.plan();
    const work = workOf(world, 1, () => {
      for (let at = 0; at < 50; at++) join(world, `n${at}`);
      expect(world.plan()).toEqual([]);
    });
    expect(work.groupsRanked).toBeLessThanOrEqual(1_001);
  });
});

test("classes whose jobs were all cancelled are removed, although no node ever had capacity for them", () => {
  const world = new World();
  join(world, "a");
  submit(world, ...times(50, (at) => ({ resources: { cpu: 100 + at } })));
  world.plan();
  expect(world.state.queue.classCount).toBe(50);
  for (let at = 1; at <= 50; at++) {
    const cancel = { index: undefined, reason: "", by: "t", nowMs: 1 };
    world.do({ kind: "cancel-job", jobId: jobId(at), ...cancel });
  }
  expect(world.state.queue.classCount).toBe(0);
});
