import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../testing/builders.ts";
import { World } from "../../testing/world.ts";
import { isActive } from "../model/job/task.ts";

interface Shape {
  readonly nodes: number;
  readonly queued: number;
  readonly groups?: number;
  readonly classes?: number;
  readonly memory?: boolean;
}

/** A full fleet with a backlog; tasks use `cpus` of each node. */
function aBusyWorld({ nodes, queued, groups = 1, classes = 1, memory = false }: Shape): World {
  const world = new World();
  for (let at = 0; at < nodes; at++) {
    const capacity = memory ? { cpu: 100_000, memory: 2 } : { cpu: 2_000 };
    world.do({ kind: "connect-node", ...aHello(`n${at}`, { capacity, session: at + 1 }) });
  }
  const needs = memory ? { cpu: 1, memory: 1 } : { cpu: 1 };
  for (let at = 0; at < classes; at++) {
    const waitsForMore = { ...needs, cpu: 50 + at }; // fits nowhere while others run
    submit(world, at === 0 ? needs : waitsForMore, `g${at % groups}`, nodes * 2 + queued);
  }
  world.plan();
  return world;
}

function submit(world: World, resources: Record<string, number>, group: string, count: number) {
  const spec = aSpec({ resources, group, array: `0-${count - 1}` });
  world.do({
    kind: "submit-jobs",
    submissions: [{ spec, idempotencyKey: undefined }],
    by: "t",
    nowMs: 0,
  });
}

/** The planner's work while `events` tasks end one by one and others take their capacity. */
function workPerEvent(world: World, events = 50): { looked: number; asked: number } {
  const { work } = world.state.fleet;
  const before = { ...work };
  const running = [...world.state.nodes.values()]
    .slice(0, events)
    .flatMap(({ tasks }) => [...tasks][0] ?? []);
  for (const task of running) {
    if (!isActive(task.state)) continue;
    world.report(task.state.nodeId, [task.jobId, task.index, task.attempt], 0);
    expect(world.plan().length).toBe(1);
  }
  return {
    looked: (work.nodesLookedAt - before.nodesLookedAt) / running.length,
    asked: (work.classesAsked - before.classesAsked) / running.length,
  };
}

describe("the cost of an event", () => {
  const few = workPerEvent(aBusyWorld({ nodes: 60, queued: 100 }));

  test("does not grow with the number of nodes it does not touch", () => {
    expect(workPerEvent(aBusyWorld({ nodes: 2_000, queued: 100 }))).toEqual(few);
  });

  test("does not grow with the queue", () => {
    expect(workPerEvent(aBusyWorld({ nodes: 60, queued: 900_000 }))).toEqual(few);
  });

  test("does not grow with nodes when memory, not cpu, is scarce", () => {
    const small = workPerEvent(aBusyWorld({ nodes: 60, queued: 100, memory: true }));
    expect(workPerEvent(aBusyWorld({ nodes: 2_000, queued: 100, memory: true }))).toEqual(small);
  });

  test("is small: the node with new free capacity and the class that waits for it", () => {
    expect(few.looked).toBeLessThanOrEqual(3);
    expect(few.asked).toBeLessThanOrEqual(1);
  });

  test("requests that could not use the free capacity are not compared", () => {
    const many = workPerEvent(aBusyWorld({ nodes: 60, queued: 100, classes: 40 }));
    expect(many.looked).toBeLessThanOrEqual(few.looked);
    expect(many.asked).toBeLessThanOrEqual(1);
  });

  test("for a job with a rare resource includes only nodes that have it", () => {
    const world = aBusyWorld({ nodes: 2_000, queued: 0, memory: true });
    const capacity = { cpu: 64_000, gpu: 4 };
    world.do({ kind: "connect-node", ...aHello("rare", { capacity, session: 9_999 }) });
    const { work } = world.state.fleet;
    const before = work.nodesLookedAt;
    submit(world, { cpu: 1, gpu: 1 }, "late", 1);
    expect(world.plan().length).toBe(1);
    expect(work.nodesLookedAt - before).toBe(2); // to put it into a pool, and to place the task
  });

  test("a costly search is made once for all tasks with equal requests", () => {
    const world = aBusyWorld({ nodes: 2_000, queued: 0, memory: true });
    const capacity = { cpu: 64_000, memory: 100 };
    world.do({ kind: "connect-node", ...aHello("roomy", { capacity, session: 9_999 }) });
    const { work } = world.state.fleet;
    const before = work.nodesLookedAt;
    submit(world, { cpu: 2, memory: 1 }, "late", 20);
    expect(world.plan().length).toBe(20);
    expect(work.nodesLookedAt - before).toBeLessThanOrEqual(2 * 2_001 + 20);
  });
});
