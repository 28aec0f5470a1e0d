import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { aPlane, type TestPlane } from "../../testing/plane.ts";
import type { NodeFacts } from "../../core/model/node/node-facts.ts";
import { NO_FACTS } from "../../core/model/node/node-facts.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { ClusterDescription, ClusterObservation } from "../../ports/cluster-source.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { PlaneApi } from "../testing/plane-api.ts";
import type { JgfDocument } from "../../core/graph/jgf.ts";
import { describeMachine, markOf, withMachine } from "./description.ts";
import type { KeeperOptions } from "./keeper.ts";
import { ClusterKeeper } from "./keeper.ts";
import { silentLogger } from "../../testing/silent-logger.ts";

const machine = (cores: number, software: NodeFacts["software"] = {}): ClusterDescription =>
  describeMachine("blue", "m1", { ...NO_FACTS, cores, software });

let plane: TestPlane;
let server: PlaneApi;
let clock: FakeClock;
let described: ClusterDescription | Error;
let observed: ClusterObservation | Error;
let warnings: string[];
let rooms: number;
let stop: AbortController;
let running: Promise<unknown>;

const value = <T>(given: T | Error): T => {
  if (given instanceof Error) throw given;
  return given;
};

function start(options: Partial<KeeperOptions> = {}): ClusterKeeper {
  const keeper = new ClusterKeeper({
    cluster: "blue",
    agent: { name: "blue-agent", fingerprint: "b1" },
    replaces: "own",
    api: server.api,
    source: { describe: async () => value(described), observe: async () => value(observed) },
    taken: { observing: () => () => undefined, notObserved: () => undefined },
    refreshMs: 15_000,
    costPerNodeHour: undefined,
    clock,
    random: { fraction: () => 0.5, token: () => "" },
    logger: {
      ...silentLogger,
      warn: (fields, message) => warnings.push(`${message} ${JSON.stringify(fields)}`),
    },
    onRoom: () => (rooms += 1),
    ...options,
  });
  running = keeper.run(stop.signal);
  return keeper;
}

/** The control plane answers in real time, after a few turns of the event loop. */
async function pass(ms: number): Promise<void> {
  for (let turn = 0; turn < 60; turn++) await clock.pass(0);
  await clock.pass(ms);
  for (let turn = 0; turn < 60; turn++) await clock.pass(0);
}

const changes = (): string[] => server.changes.splice(0);

beforeEach(async () => {
  ({ plane } = await aPlane());
  server = new PlaneApi(plane.operations);
  clock = new FakeClock();
  described = machine(4, { os: [{ name: "debian" }] });
  observed = { state: { nodes_free: 1, running: 0 }, free: {} };
  warnings = [];
  rooms = 0;
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await running;
  expect(clock.timers).toBe(0);
  await plane.close();
});

describe("a cluster is registered", () => {
  test("with its graph, its subsystems, and its state with free nodes that count down", async () => {
    const keeper = start({ costPerNodeHour: 3.5 });
    await keeper.known;
    await pass(0);
    expect(changes()).toEqual([
      "register",
      "add os",
      "state cost_per_node_hour=3.5 nodes_free=1 running=0",
    ]);
    expect(await plane.operations.getCluster("blue")).toMatchObject({
      kind: "pulling",
      vertices: { core: 4 },
      subsystems: [{ name: "os" }],
      counters: [{ key: "nodes_free", by: "nodes" }],
    });
    expect(rooms).toBeGreaterThan(0);
  });

  test("once: the next agent of this cluster changes nothing", async () => {
    start();
    await pass(0);
    stop.abort();
    await running;
    changes();
    stop = new AbortController();
    start();
    await pass(0);
    expect(changes()).toEqual([]);
  });

  test("again when the machine has changed, without the removed vertices", async () => {
    described = machine(4, { os: [{ name: "debian" }], mpi: [{ name: "openmpi" }] });
    const keeper = start();
    await pass(0);
    changes();
    described = machine(8, { os: [{ name: "debian" }], spack: [{ name: "ior" }] });
    keeper.describeAgain();
    await pass(limits.clusterRefreshMsMin);
    expect(changes()).toEqual(["remove mpi", "update", "add spack"]);
    const { vertices, subsystems } = await plane.operations.getCluster("blue");
    expect([vertices["core"], subsystems.map(({ name }) => name)]).toEqual([8, ["os", "spack"]]);
    expect(
      markOf(JSON.parse(await plane.operations.getClusterGraph("blue")) as JgfDocument),
    ).toEqual({
      name: "blue-agent",
      fingerprint: "b1",
      subsystems: ["os", "spack"],
    });
  });

  test("with the names of its subsystems, so that the next agent knows which were removed", async () => {
    const keeper = start();
    await pass(0);
    for (const mpi of [[{ name: "openmpi" }], []]) {
      described = machine(4, { os: [{ name: "debian" }], mpi });
      keeper.describeAgain();
      await pass(limits.clusterRefreshMsMin);
    }
    expect(changes().slice(3)).toEqual(["update", "add mpi", "remove mpi", "update"]);
  });

  test("also when subsystems are linked to removed nodes", async () => {
    const keeper = start();
    await pass(0);
    changes();
    described = describeMachine("blue", "m2", {
      ...NO_FACTS,
      cores: 4,
      software: { os: [{ name: "debian" }] },
    });
    keeper.describeAgain();
    await pass(limits.clusterRefreshMsMin);
    expect(changes()).toEqual(["remove os", "update", "add os"]);
  });

  test("again when it was deleted meanwhile", async () => {
    start();
    await pass(0);
    changes();
    await plane.operations.deleteCluster("blue");
    await pass(15_000);
    expect(changes()).toEqual(["register", "add os", "state nodes_free=1 running=0"]);
  });
});

describe("a cluster that another client registered", () => {
  const foreign = { graph: { nodes: { "0": { metadata: { type: "cluster" } } }, edges: [] } };
  beforeEach(async () => {
    await plane.operations.registerCluster({ name: "blue", graph: foreign });
  });

  test("keeps its graph; the agent logs that once, and sends the cluster's state", async () => {
    const keeper = start();
    await keeper.known;
    await pass(60_000);
    described = machine(3); // and the agent looks at it again
    keeper.describeAgain();
    await pass(60_000);
    expect(changes()).toEqual(["state nodes_free=1 running=0"]);
    expect(warnings).toEqual([expect.stringMatching(/another graph.*--update-graph/)]);
  });

  test("gets the agent's graph when the operator asks for that", async () => {
    start({ replaces: "all" });
    await pass(0);
    expect(changes()).toEqual(["update", "add os", "state nodes_free=1 running=0"]);
  });

  test("stays unchanged when the agent replaces only its own graphs", async () => {
    start({ replaces: "all" });
    await pass(0);
    stop.abort();
    await running;
    changes();
    stop = new AbortController();
    described = machine(2);
    // The same name with another key is another agent.
    start({ agent: { name: "blue-agent", fingerprint: "b2" }, replaces: "own" });
    await pass(0);
    expect(changes()).toEqual([]);
    stop.abort();
    await running;
    stop = new AbortController();
    start({ agent: { name: "other", fingerprint: "b2" }, replaces: "agents" }); // of a scheduler, which knows the whole cluster
    await pass(0);
    expect(changes()).toEqual(["remove os", "update"]);
  });

  test("and that has nodes with agents: this is an error at once", async () => {
    const { FakeAgent } = await import("../../testing/fake-agent.ts");
    new FakeAgent(plane).hello("n1", { cluster: "green" });
    await pass(0);
    await expect(start({ cluster: "green" }).known).rejects.toThrow(
      /cluster green has nodes with agents of their own/,
    );
  });
});

describe("its state", () => {
  test("is sent when it differs, whoever changed it", async () => {
    const keeper = start();
    await pass(0);
    changes();
    await pass(45_000);
    expect(changes()).toEqual([]);
    observed = { state: { nodes_free: 1, running: 3 }, free: {} };
    await pass(15_000);
    expect(changes()).toEqual(["state running=3"]);
    const counters = [{ key: "slots", by: "slots" }];
    const counted = { cluster: "blue", values: { nodes_free: 0, zone: "north" }, counters };
    await plane.operations.setClusterState(counted);
    keeper.changed();
    keeper.changed();
    await pass(limits.clusterRefreshMsMin);
    expect(changes()).toEqual(["state nodes_free=1"]);
    const { state, counters: all } = await plane.operations.getCluster("blue");
    expect(all.map(({ key }) => key)).toEqual(["slots", "nodes_free"]);
    expect(state.map(({ key }) => key).sort()).toEqual(["nodes_free", "running", "zone"]);
  });

  test("a change during an observation causes another one soon", async () => {
    const asked: (() => void)[] = [];
    const observe = () =>
      new Promise<ClusterObservation>((resolve) => asked.push(() => resolve(value(observed))));
    const keeper = start({ source: { describe: async () => value(described), observe } });
    await pass(0);
    keeper.changed();
    await pass(limits.clusterRefreshMsMin);
    expect(asked).toHaveLength(1);
    asked[0]?.();
    await pass(0);
    expect(asked).toHaveLength(2);
    asked[1]?.();
  });

  test("the agent waits for a server that is away, however long, and logs when it is back", async () => {
    server.isAway = true;
    const keeper = start();
    await pass(120_000);
    expect(warnings).toEqual([expect.stringMatching(/cannot report .*trying again/)]);
    server.isAway = false;
    await pass(limits.reconnectDelayMsMax);
    await keeper.known;
    expect(changes()).toHaveLength(3);
  });

  test("a scheduler that does not answer blocks nothing else: the agent accepts no tasks until it answers", async () => {
    let lost = 0;
    observed = new AppError("unavailable", "no controller");
    described = new AppError("unavailable", "no controller");
    await plane.operations.registerCluster({
      name: "blue",
      graph: machine(1).graph,
    });
    const taken = { observing: () => () => undefined, notObserved: () => void (lost += 1) };
    await start({ taken }).known; // the cluster is registered: the agent can report its runs
    expect(lost).toBeGreaterThan(0);
    expect(changes()).toEqual([]);
    observed = { state: { nodes_free: 2 }, free: {} };
    described = machine(1);
    await pass(limits.reconnectDelayMsMax);
    expect(changes()).toEqual(["state nodes_free=2"]);
  });
});

test("facts of this machine hold for a scheduler's cluster, where the scheduler does not report them", () => {
  const own = machine(4, { os: [{ name: "debian" }] });
  const both = withMachine(own, {
    ...NO_FACTS,
    software: { os: [{ name: "suse" }], spack: [{ name: "ior" }] },
  });
  expect(both.graph).toBe(own.graph);
  expect(both.subsystems.map(({ name }) => name)).toEqual(["os", "spack"]);
  expect(both.subsystems[0]).toBe(own.subsystems[0]);
  expect(both.subsystems[1]?.document.graph.edges).toEqual([
    { source: "/blue", target: "spack/ior", relation: "contains" },
  ]);
});
