import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { KINDS, type KindName } from "./model/kinds.ts";
import { hashName, treeLabels } from "./model/names.ts";
import { aNexusBed } from "./testing/nexus-bed.ts";

// What the unmodified programs send, call by call, as it was recorded.
let bed: Awaited<ReturnType<typeof aNexusBed>>;
beforeEach(async () => {
  bed = await aNexusBed();
});
afterEach(() => bed.close());

const at = (kind: KindName, path?: readonly string[]): string => {
  const { group, plural } = KINDS[kind];
  const name = path === undefined ? "" : `/${hashName(KINDS[kind], path)}`;
  return `/apis/${group}/v1/${plural}${name}`;
};

const ZEROS = {
  sourceGeneration: 0,
  remoteGeneration: 0,
  syncerStatus: { etcdVersion: 0, cRGenerationId: 0 },
};

const post = (kind: KindName, path: readonly string[], more: object = {}) =>
  bed.send("POST", at(kind), {
    metadata: {
      name: hashName(KINDS[kind], path),
      creationTimestamp: null,
      labels: treeLabels(KINDS[kind], path),
    },
    ...more,
    status: { nexus: ZEROS },
  });

/** As the client does it: the body has the kind in small letters, and a spec of zeros. */
async function putStatus(kind: KindName, path: readonly string[], state: object) {
  const { metadata } = (await bed.get(at(kind, path))).body as { metadata: object };
  const spec = { jobId: 0, powerNeeded: 0, creationTime: 0 };
  const status = { state, nexus: ZEROS };
  const body = {
    apiVersion: `${KINDS[kind].group}/v1`,
    kind: KINDS[kind].plural,
    metadata,
    spec,
    status,
  };
  return bed.send("PUT", `${at(kind, path)}/status`, body);
}

interface Shown {
  readonly metadata: { readonly resourceVersion: string; readonly labels: Record<string, string> };
  readonly spec: Record<string, unknown>;
  readonly status: { readonly state: Record<string, unknown> };
}
const read = async (kind: KindName, path: readonly string[]): Promise<Shown> =>
  (await bed.get(at(kind, path))).body as unknown as Shown;

/** dminit, then one edge of a site, up to the status that it writes once. */
async function startEdgeAgent(site: string, edge = site): Promise<void> {
  expect((await bed.get(at("PowerScheduler", []))).status).toBe(200);
  for (const kind of ["Config", "DesiredSiteConfig", "Inventory"] as const) {
    expect((await post(kind, [])).status).toBe(409);
    expect((await bed.get(at(kind, []))).status).toBe(200);
  }
  if ((await bed.get(at("Site", [site]))).status === 404) await post("Site", [site]);
  if ((await bed.get(at("SiteDC", [site]))).status === 404) await post("SiteDC", [site]);
  expect([201, 409]).toContain((await post("Edge", [site, edge])).status);
  if ((await bed.get(at("EdgeDC", [site, edge]))).status === 404)
    await post("EdgeDC", [site, edge]);
  const powerInfo = { totalPowerAvailable: 100, freePowerAvailable: 0 };
  const { status, body } = await putStatus("Edge", [site, edge], { powerInfo });
  expect({ status, kind: body["kind"] }).toEqual({ status: 200, kind: "Edge" });
}

describe("eps-edge-agent", () => {
  test("becomes a node with power, in its site, again after a restart of its own", async () => {
    await startEdgeAgent("edge-10");
    await startEdgeAgent("edge-10");
    await eventually(
      async () => (await bed.plane.operations.getNode("edge-10")).power?.watts === 18,
      { what: "the node to have power" },
    );
    const node = await bed.plane.operations.getNode("edge-10");
    expect(node).toMatchObject({ cluster: "edge-10", state: "connected" });
    expect((await read("Edge", ["edge-10", "edge-10"])).status.state).toMatchObject({
      powerInfo: { totalPowerAvailable: 18, freePowerAvailable: 18 },
    });
  });

  test("with the name of another site's edge is another node", async () => {
    await startEdgeAgent("north", "e");
    await startEdgeAgent("south", "e");
    const { nodes } = await bed.plane.operations.listNodes({}, {});
    expect(nodes.map(({ name, cluster }) => `${cluster}/${name}`).toSorted()).toEqual([
      "north/e",
      "south/south.e",
    ]);
    expect((await bed.get(at("Edge", ["south", "e"]))).status).toBe(200);
  });

  test("is gone when its edge is deleted, and may come again", async () => {
    await startEdgeAgent("edge-10");
    expect((await bed.send("DELETE", at("Edge", ["edge-10", "edge-10"]))).status).toBe(200);
    expect((await bed.get(at("EdgeDC", ["edge-10", "edge-10"]))).status).toBe(404);
    await startEdgeAgent("edge-10");
    expect((await bed.get(at("EdgeDC", ["edge-10", "edge-10"]))).status).toBe(200);
  });
});

test("eps-scheduler beside Busbar changes nothing, and is not refused what would end it", async () => {
  await startEdgeAgent("edge-10");
  await post("Jobgroup", ["DefaultGroup"]);
  await post("Job", ["DefaultGroup", "job-1"], { spec: { jobId: 1, powerNeeded: 100 } });
  const stats = await putStatus("SchedulerConfig", [], { jobsQueued: 9 });
  expect(stats.status).toBe(200);
  const state = { percentCompleted: 100, execution: {} };
  const told = await putStatus("Job", ["DefaultGroup", "job-1"], state);
  expect(told.status).toBe(200);
  expect(told.body).not.toMatchObject({ status: { state: { percentCompleted: 100 } } });
});

test("eps-perf makes and writes jobs by plain names, without labels", async () => {
  const made = await bed.send("POST", at("Job"), {
    metadata: { name: "writer-1" },
    spec: { jobId: 1 },
  });
  expect(made.body).toMatchObject({ metadata: { name: "writer-1" } });
  for (let n = 0; n < 3; n++) {
    const object = (await bed.get(`${at("Job")}/writer-1`)).body;
    expect((await bed.send("PUT", `${at("Job")}/writer-1`, object)).status).toBe(200);
  }
  expect((await bed.send("PUT", `${at("Job")}/writer-1`, made.body)).status).toBe(200);
});
