import { expect, test } from "vitest";
import { aHello, aSpec } from "../../../testing/builders.ts";
import { checkState } from "../../../testing/check/check-state.ts";
import { World } from "../../../testing/world.ts";
import { MatchTotal } from "../../graph/match/match-total.ts";
import { nodeId } from "../../model/ids.ts";
import {
  canStart,
  cannotStart,
  CONTAINERS,
  lookingForContainers,
} from "../../model/node/container-facts.ts";
import { type FactEntry, NO_FACTS } from "../../model/node/node-facts.ts";
import { checkPossible } from "../../state/decide/tasks/check-possible.ts";
import { describeClusterReasons } from "../explain/describe.ts";
import { pullingAnswer } from "../explain/places.ts";
import { FILTERS } from "./chain.ts";
import { register, submit, whereTo } from "../testing/worlds.ts";

const IMAGE = { image: "tool:1" };
const factsOf = (entry: FactEntry) => ({ ...NO_FACTS, software: { [CONTAINERS]: [entry] } });
const join = (world: World, name: string, session: number, entry: FactEntry): void => {
  world.do({ kind: "connect-node", ...aHello(name, { session, facts: factsOf(entry) }) });
};

test("a task with an image goes to a node that starts containers, other tasks go to any node", () => {
  const world = new World();
  join(world, "bare", 1, cannotStart("there is no runc"));
  submit(world, IMAGE);
  expect(world.plan()).toEqual([]);
  submit(world, {});
  expect(world.plan().map(whereTo)).toEqual(["bare"]);
  join(world, "full", 2, canStart({ version: "1.1" }));
  expect(world.plan().map(whereTo)).toEqual(["full"]);
  expect(checkState(world.state)).toEqual([]);
});

test("it is refused with what is missing, and placed when the agent has found it", () => {
  const world = new World();
  join(world, "bare", 1, cannotStart("there is no umoci"));
  const admit = (): void =>
    checkPossible(world.state, aSpec(IMAGE), { at: 0, total: new MatchTotal() });
  expect(admit).toThrow("1 node: cannot start containers: there is no umoci");
  submit(world, IMAGE);
  expect(world.plan()).toEqual([]);
  const facts = factsOf(canStart({}));
  world.do({ kind: "put-facts", nodeId: nodeId("bare"), session: 1, facts });
  expect(admit).not.toThrow();
  expect(world.plan().map(whereTo)).toEqual(["bare"]);
});

test("a task waits for an agent that has not reported yet, and is not refused", () => {
  const world = new World();
  join(world, "new", 1, lookingForContainers());
  const admit = (): void =>
    checkPossible(world.state, aSpec(IMAGE), { at: 0, total: new MatchTotal() });
  expect(admit).not.toThrow();
  submit(world, IMAGE);
  expect(world.plan()).toEqual([]);
  const record = world.state.nodes.get(nodeId("new")) ?? expect.fail();
  expect(FILTERS.judge(aSpec(IMAGE), record)).toEqual({
    kind: "not-now",
    reason: { kind: "no-containers", why: "its agent is still testing it" },
  });
  const facts = factsOf(canStart({}));
  world.do({ kind: "put-facts", nodeId: nodeId("new"), session: 1, facts });
  expect(world.plan().map(whereTo)).toEqual(["new"]);
  expect(checkState(world.state)).toEqual([]);
});

test("a pull cluster gets none, and its reason says so", () => {
  const world = new World();
  register(world, "pull");
  const spec = aSpec({ ...IMAGE, placement: { cluster: "pull" } });
  const [cluster] = world.state.clusters.inOrder;
  const { reasons } = pullingAnswer(world.state.clusters, cluster?.id ?? expect.fail(), spec);
  expect(describeClusterReasons(reasons)).toEqual([
    "the job requests an image, and only nodes with agents start containers",
  ]);
  submit(world, { ...IMAGE, placement: { cluster: "pull" } });
  expect(world.plan()).toEqual([]);
});

const POD = JSON.stringify({ apiVersion: "v1", kind: "Pod", name: "web", spec: {} });
const FUNCTION = JSON.stringify({
  apiVersion: "v1",
  kind: "Function",
  name: "f",
  spec: { function: { execution: { rootfs: "http://x/y" } } },
});
const ROOM = { capacity: { cpu: 4_000, instances: 50 } };

/** An agent that offers instances, and may be able to start containers. */
const offer = (world: World, name: string, session: number, entry: FactEntry): void => {
  const hello = aHello(name, { session, facts: factsOf(entry), ...ROOM });
  world.do({ kind: "connect-node", ...hello });
};
const worker = (world: World, name: string, session: number): void => {
  world.do({ kind: "connect-node", ...aHello(name, { session, instancesOnly: true, ...ROOM }) });
};

test("a Pod goes to a worker of rik, or to an agent that offers instances and starts containers", () => {
  const world = new World();
  offer(world, "bare", 1, cannotStart("there is no runc"));
  submit(world, { workload: POD, command: undefined });
  expect(world.plan()).toEqual([]);
  const bare = world.state.nodes.get(nodeId("bare")) ?? expect.fail();
  expect(FILTERS.judge(aSpec({ workload: POD, command: undefined }), bare)).toEqual({
    kind: "never",
    reason: { kind: "no-containers", why: "there is no runc" },
  });
  offer(world, "full", 2, canStart({}));
  expect(world.plan().map(whereTo)).toEqual(["full"]);
  worker(world, "rik", 3);
  world.do({ kind: "drain-node", nodeId: nodeId("full"), drain: { reason: "" } });
  submit(world, { workload: POD, command: undefined });
  expect(world.plan().map(whereTo)).toEqual(["rik"]);
  expect(checkState(world.state)).toEqual([]);
});

test("a Pod with an image from a file goes to agents only: a worker of rik would look for it in a registry", () => {
  const world = new World();
  worker(world, "rik", 1);
  const containers = ["alpine:3", "oci:/images/web:3"].map((image) => ({ name: image, image }));
  const workload = JSON.stringify({ ...(JSON.parse(POD) as object), spec: { containers } });
  submit(world, { workload, command: undefined });
  expect(world.plan()).toEqual([]);
  const rik = world.state.nodes.get(nodeId("rik")) ?? expect.fail();
  expect(FILTERS.judge(aSpec({ workload, command: undefined }), rik)).toEqual({
    kind: "never",
    reason: { kind: "no-file-images" },
  });
  offer(world, "full", 2, canStart({}));
  expect(world.plan().map(whereTo)).toEqual(["full"]);
  const named = workload.replaceAll("oci:/images/web:3", "oci:3");
  world.do({ kind: "drain-node", nodeId: nodeId("full"), drain: { reason: "" } });
  submit(world, { workload: named, command: undefined });
  expect(world.plan().map(whereTo)).toEqual(["rik"]);
  expect(checkState(world.state)).toEqual([]);
});

test("a Function goes to a worker of rik only, and nothing but instances goes there", () => {
  const world = new World();
  offer(world, "full", 1, canStart({}));
  submit(world, { workload: FUNCTION, command: undefined });
  expect(world.plan()).toEqual([]);
  worker(world, "rik", 2);
  expect(world.plan().map(whereTo)).toEqual(["rik"]);
  world.do({ kind: "drain-node", nodeId: nodeId("full"), drain: { reason: "" } });
  submit(world, {});
  submit(world, IMAGE);
  expect(world.plan()).toEqual([]);
  const rik = world.state.nodes.get(nodeId("rik")) ?? expect.fail();
  for (const input of [{}, IMAGE]) {
    const verdict = FILTERS.judge(aSpec(input), rik);
    expect(verdict).toEqual({ kind: "never", reason: { kind: "instances-only" } });
  }
  const full = world.state.nodes.get(nodeId("full")) ?? expect.fail();
  expect(FILTERS.judge(aSpec({ workload: FUNCTION, command: undefined }), full)).toEqual({
    kind: "never",
    reason: { kind: "no-functions" },
  });
  expect(checkState(world.state)).toEqual([]);
});
