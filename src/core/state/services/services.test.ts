import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { aHello, aSpec } from "../../../testing/builders.ts";
import { checkState, digest, readBack } from "../../../testing/check/check-state.ts";
import { runs } from "../../../testing/runs.ts";
import { World } from "../../../testing/world.ts";
import { nodeId, serviceId } from "../../model/ids.ts";
import { toJobSpec } from "../../model/job/job-spec.ts";
import { isActive, type Task } from "../../model/job/task.ts";
import { nextServiceStep } from "../decide/services/step.ts";
import { nextTickMs } from "../decide/tick.ts";
import { runServiceStep, serviceStep } from "./testing/service-steps.ts";

const NODES = ["n1", "n2", "n3"];
const node = fc.constantFrom(...NODES);
const pick = fc.nat(20);

/** Events of instances, besides the commands of callers. */
const step = fc.oneof(
  { weight: 3, arbitrary: serviceStep },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("connect" as const), node }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("lose" as const), node }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("start" as const), pick }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("end" as const),
      pick,
      code: fc.constantFrom(0, 1, 143),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancel" as const), pick }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("plan" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(500, 2_000) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("flush" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const activeIn = ({ state }: World): Task[] =>
  [...state.nodes.values()].flatMap(({ tasks }) => [...tasks].filter((one) => isActive(one.state)));

let session = 0;

function connect(world: World, name: string): void {
  const there = activeIn(world).filter(({ state }) => "nodeId" in state && state.nodeId === name);
  const known = there.map(({ jobId, index, attempt }) => ({ jobId, index, attempt }));
  const { nowMs } = world;
  const capacity = { cpu: 8_000 };
  world.do({
    kind: "connect-node",
    ...aHello(name, { runs: known, session: ++session, nowMs, capacity }),
  });
}

function tick(world: World, ms: number): void {
  world.nowMs += ms;
  const settings = { nodeLostAfterMs: 30_000, finishedTasksMax: 4, finishedAgeMsMax: 120_000 };
  world.do({ kind: "tick", nowMs: world.nowMs, settings });
}

function run(world: World, one: Step): void {
  const active = activeIn(world);
  const task = "pick" in one ? active[one.pick % Math.max(1, active.length)] : undefined;
  const on = task !== undefined && isActive(task.state) ? task.state.nodeId : "";
  const link = (name: string) => world.state.nodes.get(nodeId(name))?.node.link;
  switch (one.do) {
    case "service":
      return runServiceStep(world, one);
    case "connect":
      return connect(world, one.node);
    case "lose": {
      const now = link(one.node);
      if (now?.kind !== "connected") return;
      const { nowMs } = world;
      const number = now.session;
      world.do({ kind: "disconnect-node", nodeId: nodeId(one.node), session: number, nowMs });
      return tick(world, 40_000);
    }
    case "start":
      if (task !== undefined && link(on)?.kind === "connected")
        world.report(on, [task.jobId, 0, task.attempt]);
      return;
    case "end":
      if (task !== undefined && link(on)?.kind === "connected")
        world.report(on, [task.jobId, 0, task.attempt], one.code);
      return;
    case "cancel": {
      if (task === undefined) return;
      const { jobId } = task;
      const { nowMs } = world;
      world.do({ kind: "cancel-job", jobId, index: undefined, reason: "r", nowMs });
      return;
    }
    case "plan":
      world.plan();
      return;
    case "wait":
      return tick(world, one.ms);
    case "restart":
      return world.restart();
    case "flush":
      return world.flush();
  }
}

function tried(world: World, one: Step): void {
  const before = world.changes.length;
  try {
    run(world, one);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(world.changes.length).toBe(before); // a rejection changes nothing
  }
}

/** All nodes are connected, and placed tasks start and keep running. */
function heal(world: World): void {
  for (const name of NODES) connect(world, name);
  for (let round = 0; round < 60; round++) {
    tick(world, 60_000);
    world.settle();
    world.plan();
    for (const { jobId, attempt, state } of activeIn(world)) {
      if (!isActive(state) || state.kind === "running") continue;
      if (state.kind === "assigned") world.report(state.nodeId, [jobId, 0, attempt]);
      else world.report(state.nodeId, [jobId, 0, attempt], 143);
    }
    world.settle();
  }
}

const world3 = (): World => {
  const world = new World();
  for (const name of NODES) connect(world, name);
  const spec = aSpec({ command: ["serve", "1"], service: { restart: "always" } });
  world.do({ kind: "put-service", id: serviceId("s"), spec, replicas: 3, nowMs: world.nowMs });
  return world;
};

describe("services", () => {
  test("whatever happens, slots agree with their jobs, and each has one at a time", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 50 }), (steps) => {
        const world = world3();
        for (const one of steps) {
          tried(world, one);
          expect(checkState(world.state)).toEqual([]);
          world.settle();
          expect(checkState(world.state)).toEqual([]);
          expect(nextServiceStep(world.state, world.nowMs)).toBeUndefined();
        }
        expect(digest(readBack(world.changes))).toEqual(digest(world.state));
      }),
      { numRuns: runs(400) },
    );
  });

  test("once all nodes are connected, exactly the wanted number runs, all of one generation", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 50 }), (steps) => {
        const world = world3();
        for (const one of steps) {
          tried(world, one);
          world.settle();
        }
        heal(world);
        for (const { row, sets, counted } of world.state.services.all()) {
          expect(counted.size).toBe(row.replicas);
          expect(sets.running.size + sets.settled.size).toBe(sets.kept.size);
          if (row.rollout.kind !== "stopped") {
            expect([...sets.kept].every((slot) => slot.row.made === row.template.generation)).toBe(
              true,
            );
            expect(row.rollout.kind).toBe("done");
          }
          expect(row.removal).toBeUndefined();
        }
      }),
      { numRuns: runs(300) },
    );
  });

  test("a command does not replace a workload, whose own program would lose its instances", () => {
    const world = world3();
    const put = (init: Parameters<typeof toJobSpec>[0]): void => {
      world.do({ kind: "put-service", id: serviceId("w"), spec: toJobSpec(init), nowMs: 0 });
    };
    const text = (image: string): string =>
      `{"apiVersion":"v1","kind":"Pod","name":"w","spec":{"containers":[{"name":"m","image":"${image}"}]}}`;
    put({ workload: text("alpine:1") });
    put({ workload: text("alpine:2") });
    expect(() => put({ command: ["serve"] })).toThrow(/^template: service w runs a workload/);
  });

  test("an instance that is wanted again while it ends comes back with the present template", () => {
    const world = world3();
    const put = (version: string, replicas: number): void => {
      const spec = aSpec({ command: ["serve", version], service: { restart: "always" } });
      world.do({ kind: "put-service", id: serviceId("s"), spec, replicas, nowMs: world.nowMs });
      world.settle();
    };
    world.settle();
    world.plan();
    put("2", 0); // jobs of generation 1 are being stopped
    put("2", 1);
    heal(world);
    const made = [...world.state.services.all()].flatMap(({ sets }) =>
      [...sets.kept].map(({ row }) => row.made),
    );
    expect(made).toEqual([2]);
  });

  test("a thousand instances are added and removed in steps of bounded size", () => {
    const world = new World();
    const id = serviceId("s");
    const { nowMs } = world;
    world.do({ kind: "put-service", id, spec: aSpec({}), replicas: 1_000, nowMs });
    const sizes = (): number[] => {
      const seen: number[] = [];
      for (;;) {
        const changes = nextServiceStep(world.state, nowMs);
        if (changes === undefined) return seen;
        for (const change of changes) world.apply(change);
        seen.push(changes.filter(({ table }) => table === "slot").length);
      }
    };
    const up = sizes();
    expect(Math.max(...up)).toBeLessThanOrEqual(limits.instancesPerStepMax);
    expect(up.reduce((sum, one) => sum + one, 0)).toBe(1_000);
    expect(world.state.services.slotCount).toBe(1_000);
    world.do({ kind: "remove-service", id, reason: "", nowMs });
    expect(Math.max(...sizes())).toBeLessThanOrEqual(limits.instancesPerStepMax);
    expect(world.state.services.size).toBe(0);
    expect(checkState(world.state)).toEqual([]);
  });

  test("instances of a large template are added in smaller steps, and few in one call", () => {
    const world = new World();
    const id = serviceId("s");
    const { nowMs } = world;
    const spec = aSpec({ command: ["serve", "x".repeat(200 * 1024)] });
    const atOnce = Math.floor(limits.instanceCharsAtOnceMax / (200 * 1024)) - 1;
    world.do({ kind: "put-service", id, spec, replicas: 50, nowMs });
    for (;;) {
      const changes = nextServiceStep(world.state, nowMs);
      if (changes === undefined) break;
      for (const change of changes) world.apply(change);
      expect(changes.filter(({ table }) => table === "slot").length).toBeLessThanOrEqual(
        atOnce + 1,
      );
    }
    expect(world.state.services.slotCount).toBe(50);
    const add = (total: number): unknown => {
      const names = Array.from({ length: total }, (_, at) => `named-${total}-${at}`);
      return world.do({ kind: "add-instances", service: id, names, by: "alice", nowMs });
    };
    expect(() => add(atOnce + 2)).toThrow(
      /names: at most \d+ at once with a template of this size/,
    );
    add(atOnce);
    expect(world.state.services.slotCount).toBe(50 + atOnce);
    expect(checkState(world.state)).toEqual([]);
  });

  test("the next tick is at the time at which a new instance is ready", () => {
    const world = world3();
    world.settle();
    world.plan();
    const startAll = (): void => {
      for (const { jobId, attempt, state } of activeIn(world)) {
        if (isActive(state) && state.kind === "assigned")
          world.report(state.nodeId, [jobId, 0, attempt]);
      }
    };
    startAll();
    const { nowMs } = world;
    const spec = aSpec({ command: ["serve", "2"] });
    world.do({ kind: "put-service", id: serviceId("s"), spec, nowMs });
    world.settle();
    const [old] = activeIn(world).filter(({ state }) => state.kind === "stopping");
    if (old === undefined || !isActive(old.state)) throw new Error("one is replaced");
    world.report(old.state.nodeId, [old.jobId, 0, old.attempt], 143);
    world.settle();
    world.plan();
    startAll();
    world.settle();
    const settings = { nodeLostAfterMs: 1, finishedTasksMax: 9, finishedAgeMsMax: 1e9 };
    expect(nextTickMs(world.state, settings)).toBe(nowMs + limits.minReadyMsDefault);
  });
});
