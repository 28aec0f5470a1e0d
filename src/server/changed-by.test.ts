import { afterEach, expect, test } from "vitest";
import type { Principal } from "../core/access/principal.ts";
import { aDocument, documentOf } from "../core/graph/testing/documents.ts";
import { createMemoryStore, MemoryDisk } from "../store/memory/memory-store.ts";
import { eventually } from "../testing/eventually.ts";
import type { WatchEventView } from "./views/views.ts";
import { FakeAgent } from "../testing/fake-agent.ts";
import { aPlane, type TestPlane } from "../testing/plane.ts";
import { readWatch } from "../testing/read-watch.ts";
import { silentLogger } from "../testing/silent-logger.ts";

const from = (address: string): Principal => ({ kind: "network", address });
const [ADA, BOB] = [from("10.0.0.1"), from("10.0.0.2")];

const disk = new MemoryDisk();
let plane: TestPlane;
const logged: object[] = [];
const logger = { ...silentLogger, info: (fields: object) => void logged.push(fields) };
const start = async (): Promise<void> => {
  ({ plane } = await aPlane({ store: createMemoryStore(disk), logger }));
};
afterEach(() => plane.close());

async function join(): Promise<void> {
  const agent = new FakeAgent(plane);
  agent.hello("w1");
  await eventually(() => plane.state.nodes.get("w1" as never)?.node.link.kind === "connected", {
    what: "w1 to connect",
  });
}

test("a row stores and shows the principal that changed it", async () => {
  await start();
  await join();
  const [ada, bob] = [plane.operations.as(ADA), plane.operations.as(BOB)];
  const jobs = [{ spec: { command: ["x"], resources: { cpu: 64 } } }];
  await ada.submitJobs(jobs, { allowUnsatisfiable: true });
  expect(await bob.getJob("1")).not.toHaveProperty("cancelledBy");
  expect(await bob.cancelJob("1", "too large")).toMatchObject({
    submittedBy: "address:10.0.0.1",
    cancelledBy: "address:10.0.0.2",
    reason: "too large",
  });

  expect(await ada.getNode("w1")).not.toHaveProperty("changedBy");
  expect(await ada.drainNode("w1", "repair")).toMatchObject({
    drainedBy: "address:10.0.0.1",
    changedBy: "address:10.0.0.1",
  });
  const undrained = await bob.undrainNode("w1");
  expect(undrained).toMatchObject({ changedBy: "address:10.0.0.2" });
  expect(undrained).not.toHaveProperty("drainedBy");
  expect((await ada.setNode("w1", { onLost: "keep" })).changedBy).toBe("address:10.0.0.1");

  expect((await ada.putGroup({ name: "g" })).changedBy).toBe("address:10.0.0.1");
  expect((await bob.putGroup({ name: "g", weight: 2 })).changedBy).toBe("address:10.0.0.2");

  const graph = documentOf({ type: "cluster", inside: [{ type: "node" }] });
  const { cluster } = await ada.registerCluster({ name: "blue", graph, withCredentials: true });
  expect(cluster.registeredBy).toBe("address:10.0.0.1");
  expect(cluster).not.toHaveProperty("changedBy");
  expect(cluster).not.toHaveProperty("stateChangedBy");
  await bob.rotateCredentials("blue", { secret: true, token: false });
  const issuers = plane.state.credentials.inOrder.map(({ id, by }) => [id.kind, by]);
  expect(issuers).toEqual([
    ["cluster-secret", "address:10.0.0.2"],
    ["cluster-token", "address:10.0.0.1"],
  ]);
});

test("a cluster stores the principal of every kind of update", async () => {
  await start();
  const [ada, bob] = [plane.operations.as(ADA), plane.operations.as(BOB)];
  const changedBy = async (): Promise<string | undefined> =>
    (await ada.getCluster("blue")).changedBy;
  const graph = documentOf({ type: "cluster", inside: [{ type: "node" }, { type: "node" }] });
  await ada.registerCluster({ name: "blue", graph, isUpdate: true });
  expect(await changedBy()).toBe("address:10.0.0.1");
  const document = aDocument({ io0: "shm" }, [["1", "io0"]]);
  await bob.addSubsystem({ cluster: "blue", name: "io", document });
  expect(await changedBy()).toBe("address:10.0.0.2");
  await ada.removeSubsystem({ cluster: "blue", name: "io" });
  expect(await changedBy()).toBe("address:10.0.0.1");
  expect(logged).toContainEqual({ row: "subsystem/blue/io", by: "address:10.0.0.1" });
  await bob.addSubsystem({ cluster: "blue", name: "io", document });
  await ada.setClusterState({ cluster: "blue", values: { nodes_free: 2 } });
  expect(await ada.getCluster("blue")).toMatchObject({
    registeredBy: "address:10.0.0.1",
    changedBy: "address:10.0.0.2",
    stateChangedBy: "address:10.0.0.1",
  });
});

test("the principal survives a restart and a reconnect of the agent", async () => {
  await start();
  await join();
  const { operations } = plane;
  expect(await operations.getNode("w1")).toMatchObject({ changedBy: "address:10.0.0.1" });
  expect((await operations.getJob("1")).cancelledBy).toBe("address:10.0.0.2");
  expect(await operations.getCluster("blue")).toMatchObject({
    registeredBy: "address:10.0.0.1",
    changedBy: "address:10.0.0.2",
    stateChangedBy: "address:10.0.0.1",
  });
  expect(await operations.getCluster("default")).toMatchObject({ registeredBy: "agent:w1" });
  const { groups } = await operations.listGroups();
  expect(groups.map(({ name, changedBy }) => [name, changedBy])).toEqual([
    ["default", undefined],
    ["g", "address:10.0.0.2"],
  ]);
});

test("the event and the log of a removal name the principal", async () => {
  await start();
  const [ada, bob] = [plane.operations.as(ADA), plane.operations.as(BOB)];
  const stop = new AbortController();
  const seen: WatchEventView[] = [];
  const reading = (async () => {
    for await (const event of readWatch(ada, {}, stop.signal)) seen.push(event);
  })();
  await eventually(() => seen.length > 0, { what: "the watch to begin" });
  await bob.removeNode("w1");
  await ada.removeGroup("g");
  await bob.deleteCluster("blue");
  const removed = (): WatchEventView[] => seen.filter(({ kind }) => kind === "removed");
  await eventually(() => removed().length === 2, { what: "both removals" });
  expect(removed()).toMatchObject([
    { what: "node", id: "w1", by: "address:10.0.0.2" },
    { what: "group", id: "g", by: "address:10.0.0.1" },
  ]);
  expect(logged).toEqual(
    expect.arrayContaining([
      { row: "node/w1", by: "address:10.0.0.2" },
      { row: "group/g", by: "address:10.0.0.1" },
      { row: "cluster/blue", by: "address:10.0.0.2" },
      { row: "credential/cluster-token/blue", by: "address:10.0.0.2" },
    ]),
  );
  stop.abort();
  await reading;
});
