import { describe, expect, test } from "vitest";
import { World } from "../../../testing/world.ts";
import { groupId, nodeId } from "../../model/ids.ts";
import { isActive, type Task } from "../../model/job/task.ts";
import { join, submit } from "../testing/worlds.ts";

// The order of placements while lanes are parked in several pools: each node has its own pool here,
// because every job names its node. naive-order.test.ts compares the same order in random worlds.

const NODES = ["n1", "n2", "n3", "n4"];

/** Nodes that are full of tasks of the group "filler". */
function aFullWorld(cpus: number): { world: World; filler: Task[] } {
  const world = new World();
  for (const node of NODES) {
    join(world, node, { cpu: cpus * 1_000 });
    submit(world, { group: "filler", array: `0-${cpus - 1}`, placement: { node } });
  }
  return { world, filler: world.plan() };
}

function wait(world: World, group: string, node: string, count = 1, priority = 0): void {
  submit(world, { group, priority, array: `0-${count - 1}`, placement: { node } });
}

function end(world: World, tasks: readonly Task[]): void {
  for (const { jobId, index, attempt, state } of tasks) {
    if (isActive(state)) world.report(state.nodeId, [jobId, index, attempt], 0);
  }
}

const onNode = (tasks: readonly Task[], node: string): Task[] =>
  tasks.filter(({ state }) => isActive(state) && state.nodeId === node);

/** The groups and nodes of the next placements. */
function placements(world: World, max = Number.POSITIVE_INFINITY): string[] {
  return world.plan(max).map(({ jobId, state }) => {
    const group = world.state.jobs.get(jobId)?.job.spec.group;
    return `${group} ${isActive(state) ? state.nodeId : state.kind}`;
  });
}

describe("a group with parked lanes in several pools", () => {
  test("is compared by its newest rank, although other pools have an older one", () => {
    const { world, filler } = aFullWorld(2);
    wait(world, "a", "n1", 2);
    wait(world, "a", "n2", 1);
    wait(world, "b", "n3", 2);
    expect(placements(world)).toEqual([]);
    end(world, filler);
    expect(placements(world)).toEqual(["a n1", "b n3", "a n1", "b n3", "a n2"]);
  });

  test("places its lane of higher priority first, whichever pool is searched first", () => {
    const { world, filler } = aFullWorld(1);
    wait(world, "a", "n1", 1, 0);
    wait(world, "a", "n2", 1, 2);
    wait(world, "a", "n3", 1, 1);
    expect(placements(world)).toEqual([]);
    end(world, filler);
    expect(placements(world)).toEqual(["a n2", "a n3", "a n1"]);
  });
});

describe("a group that moves forward between two rounds", () => {
  /** "b" and "c" hold one task each, "a" none; all have lanes parked on nodes that are free now. */
  function betweenRounds(): { world: World; running: Task[] } {
    const { world, filler } = aFullWorld(2);
    end(world, onNode(filler, "n4"));
    wait(world, "b", "n4");
    wait(world, "c", "n4");
    const running = world.plan();
    wait(world, "a", "n1");
    wait(world, "b", "n2");
    wait(world, "c", "n3");
    expect(placements(world)).toEqual([]);
    end(
      world,
      filler.filter((task) => !onNode(filler, "n4").includes(task)),
    );
    expect(placements(world, 1)).toEqual(["a n1"]);
    return { world, running };
  }

  test("(without such a change, the others go by name)", () => {
    expect(placements(betweenRounds().world)).toEqual(["b n2", "c n3"]);
  });

  test("by its weight is served first", () => {
    const { world } = betweenRounds();
    world.do({ kind: "put-group", id: groupId("c"), weight: 2 });
    expect(placements(world)).toEqual(["c n3", "b n2"]);
  });

  test("by a task that ended in a pool without parked lanes is served first", () => {
    const { world, running } = betweenRounds();
    end(world, running.slice(1));
    expect(placements(world)).toEqual(["c n3", "b n2"]);
  });

  test("by its limit is served", () => {
    const { world } = betweenRounds();
    world.do({ kind: "put-group", id: groupId("b"), runningTasksMax: 1 });
    expect(placements(world, 1)).toEqual(["c n3"]);
    world.do({ kind: "put-group", id: groupId("b"), runningTasksMax: 2 });
    expect(placements(world)).toEqual(["b n2"]);
  });
});

test("a node that joins may reverse two shares, and with them the groups", () => {
  const world = new World();
  for (const node of NODES) join(world, node, { cpu: 4_000, memory: 4 });
  // Of 16 cpu and 16 memory: 2 of 16, and 3 of 16; one more node makes it 2 of 17, and 3 of 116.
  submit(world, { group: "a", resources: { cpu: 2 }, placement: { node: "n1" } });
  submit(world, { group: "b", resources: { cpu: 1, memory: 3 }, placement: { node: "n1" } });
  world.plan();
  for (const node of NODES.slice(1)) {
    submit(world, { group: "filler", resources: { cpu: 4 }, placement: { node } });
  }
  const filler = world.plan();
  for (const [group, node] of [
    ["first", "n2"],
    ["a", "n3"],
    ["b", "n4"],
  ] as const) {
    wait(world, group, node);
  }
  expect(placements(world)).toEqual([]);
  end(world, filler);
  expect(placements(world, 1)).toEqual(["first n2"]);
  join(world, "big", { cpu: 1_000, memory: 100 });
  expect(placements(world)).toEqual(["b n4", "a n3"]);
});

describe("a group that comes and goes, beside three that always compete for the one slot", () => {
  const SLOTS = 240;
  const OTHERS = ["a", "b", "c"];

  /**
   * How often each group got the slot, when "x" could run in some turns only: those on its own
   * node.
   */
  function served(canRun: (at: number) => boolean): { x: number; others: readonly number[] } {
    const world = new World();
    join(world, "all", { cpu: 1_000 });
    join(world, "own", { cpu: 1_000 });
    for (const group of OTHERS) submit(world, { group, array: `0-${SLOTS}` });
    wait(world, "x", "own", SLOTS);
    const count = new Map<string, number>();
    for (let at = 0; at < SLOTS; at++) {
      const [open, closed] = canRun(at) ? ["own", "all"] : ["all", "own"];
      const drain = { reason: "" };
      world.do({ kind: "drain-node", nodeId: nodeId(closed), drain });
      world.do({ kind: "drain-node", nodeId: nodeId(open), drain: undefined });
      const [task, ...more] = world.plan();
      expect(more).toEqual([]);
      if (task === undefined) throw new Error("nothing was placed");
      const group = world.state.jobs.get(task.jobId)?.job.spec.group ?? "";
      count.set(group, (count.get(group) ?? 0) + 1);
      end(world, [task]);
    }
    return { x: count.get("x") ?? 0, others: OTHERS.map((group) => count.get(group) ?? 0) };
  }

  const patterns: Readonly<Record<string, readonly [(at: number) => boolean, atLeast: number]>> = {
    "in every slot": [() => true, SLOTS / 4],
    "in every second": [(at) => at % 2 === 1, SLOTS / 4],
    "in every third": [(at) => at % 3 === 2, SLOTS / 6],
    "in every fourth": [(at) => at % 4 === 3, SLOTS / 4],
    "in every tenth": [(at) => at % 10 === 9, SLOTS / 10],
    "in the last third only": [(at) => at >= (SLOTS * 2) / 3, SLOTS / 12],
    "in 20 of 40": [(at) => at % 40 >= 20, SLOTS / 8],
  };
  for (const [name, [canRun, atLeast]] of Object.entries(patterns)) {
    test(`gets no more than its part, and is not passed over: it can run ${name}`, () => {
      const { x, others } = served(canRun);
      expect(x).toBeLessThanOrEqual(Math.min(...others) + 1);
      expect(x).toBeGreaterThanOrEqual(atLeast);
      if (name === "in the last third only") expect(x).toBeLessThanOrEqual(atLeast + 1);
    });
  }
});
