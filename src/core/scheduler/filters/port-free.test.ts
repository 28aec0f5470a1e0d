import * as fc from "fast-check";
import { expect, test } from "vitest";
import { aHello } from "../../../testing/builders.ts";
import { checkState } from "../../../testing/check/check-state.ts";
import { World } from "../../../testing/world.ts";
import { jobId, nodeId } from "../../model/ids.ts";
import { cheapestChange } from "../explain/cheapest-change.ts";
import { describeReason } from "../explain/describe.ts";
import { createPolicy } from "../policy.ts";
import { submit, whereTo } from "../testing/worlds.ts";
import { FILTERS } from "./chain.ts";

const worker = (world: World, name: string): void => {
  const session = world.state.nodes.size + 1;
  const capacity = { cpu: 4_000, instances: 50 };
  world.do({ kind: "connect-node", ...aHello(name, { session, instancesOnly: true, capacity }) });
};

/** A worker that registers runs nothing: its instances are lost. */
const registerAgain = (world: World, name: string): void => {
  const session = ++world.nowMs;
  const capacity = { cpu: 4_000, instances: 50 };
  const hello = aHello(name, { session, instancesOnly: true, capacity, bootId: `boot ${session}` });
  world.do({ kind: "connect-node", ...hello });
};

/** An instance of a Function that listens on this port of its worker. */
const listen = (world: World, port: number): void => {
  const execution = { rootfs: "http://x/y" };
  const exposure = { port, targetPort: 8_080, type: "NodePort" };
  const spec = { function: { execution, exposure } };
  const workload = JSON.stringify({ apiVersion: "v1", kind: "Function", name: "f", spec });
  submit(world, { workload, command: undefined });
};

const POD = JSON.stringify({ apiVersion: "v1", kind: "Pod", name: "web", spec: {} });
const nodeOf = (world: World, name: string) =>
  world.state.nodes.get(nodeId(name)) ?? expect.fail(`no node ${name}`);

test("an instance goes to a worker whose port is free, even if another one has more room", () => {
  const world = new World();
  worker(world, "a");
  listen(world, 45_000);
  expect(world.plan().map(whereTo)).toEqual(["a"]);
  worker(world, "b");
  world.do({ kind: "drain-node", nodeId: nodeId("a"), drain: { reason: "" } });
  for (let pods = 0; pods < 5; pods++) submit(world, { workload: POD, command: undefined });
  expect(new Set(world.plan().map(whereTo))).toEqual(new Set(["b"]));
  world.do({ kind: "drain-node", nodeId: nodeId("a"), drain: undefined });
  listen(world, 45_000);
  listen(world, 45_001);
  expect(world.plan().map(whereTo)).toEqual(["b", "a"]);
  expect(checkState(world.state)).toEqual([]);
});

test("an instance waits while its port is taken on every worker, with the reason, and starts when it is free", () => {
  const world = new World();
  worker(world, "a");
  for (let count = 0; count < 2; count++) listen(world, 45_000);
  expect(world.plan().map(whereTo)).toEqual(["a"]);
  world.restart();
  expect(world.plan()).toEqual([]);
  const { spec } = world.state.jobs.get(jobId(2))?.job ?? expect.fail();
  const verdict = FILTERS.judge(spec, nodeOf(world, "a"));
  expect(verdict.kind === "not-now" && describeReason(verdict.reason)).toBe(
    "another instance uses port 45000",
  );
  submit(world, { workload: POD, command: undefined });
  expect(world.plan().map(whereTo)).toEqual(["a"]);
  const policy = createPolicy({ policy: "spread" }, () => 0);
  const change = cheapestChange(world.state, spec, policy);
  expect(change?.step).toEqual({ kind: "task-ends", task: "1", node: "a" });
  world.report("a", [1, 0, 1], 0);
  expect(world.plan().map(({ jobId: id }) => id)).toEqual([2]);
  expect(checkState(world.state)).toEqual([]);
});

test("the judge knows ports by the rows of tasks, whatever the planner takes for free", () => {
  const world = new World();
  worker(world, "a");
  listen(world, 45_000);
  world.plan();
  nodeOf(world, "a").ports.remove(45_000);
  listen(world, 45_000);
  expect(() => world.plan()).toThrow("another instance uses port 45000");
});

type Step =
  | { readonly port: number }
  | { readonly end: number }
  | { readonly lost: string }
  | "restart";

test("no two instances are on one port of a worker, whatever ends, is lost or restarts", () => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ port: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ end: fc.nat(20) }),
    fc.record({ lost: fc.constantFrom("w0", "w1") }),
    fc.constant("restart" as const),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const world = new World();
      for (const name of ["w0", "w1"]) worker(world, name);
      for (const one of steps) {
        const active = [...world.state.nodes.values()].flatMap(({ tasks }) => [...tasks]);
        if (one === "restart") world.restart();
        else if ("port" in one) listen(world, one.port);
        else if ("lost" in one) registerAgain(world, one.lost);
        else {
          const task = active[one.end % Math.max(1, active.length)];
          if (task === undefined) continue;
          world.report(whereTo(task), [task.jobId, task.index, task.attempt], 1);
        }
        world.plan();
        expect(checkState(world.state)).toEqual([]);
      }
    }),
    { numRuns: 100 },
  );
});
