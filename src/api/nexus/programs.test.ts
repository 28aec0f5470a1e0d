import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { aNexusBed } from "./testing/nexus-bed.ts";
import { at, OldPrograms } from "./testing/old-programs.ts";
import { OldScheduler } from "./testing/old-scheduler.ts";

// The recorded calls of the unmodified programs.
let bed: Awaited<ReturnType<typeof aNexusBed>>;
let tree: OldPrograms;
beforeEach(async () => {
  bed = await aNexusBed();
  tree = new OldPrograms(bed.send);
});
afterEach(() => bed.close());

describe("eps-edge-agent", () => {
  test("becomes a node with power, in its site, and again after its own restart", async () => {
    await tree.startEdgeAgent("edge-10");
    await tree.startEdgeAgent("edge-10");
    await eventually(
      async () => (await bed.plane.operations.getNode("edge-10")).power?.watts === 18,
      { what: "the node to have power" },
    );
    const node = await bed.plane.operations.getNode("edge-10");
    expect(node).toMatchObject({ cluster: "edge-10", state: "connected" });
    expect((await tree.read("Edge", ["edge-10", "edge-10"])).status.state).toMatchObject({
      powerInfo: { totalPowerAvailable: 18, freePowerAvailable: 18 },
    });
  });

  test("with the name of another site's edge is another node", async () => {
    await tree.startEdgeAgent("north", "e");
    await tree.startEdgeAgent("south", "e");
    const { nodes } = await bed.plane.operations.listNodes({}, {});
    expect(nodes.map(({ name, cluster }) => `${cluster}/${name}`).toSorted()).toEqual([
      "north/e",
      "south/south.e",
    ]);
    expect((await bed.get(at("Edge", ["south", "e"]))).status).toBe(200);
  });

  test("is removed when its edge is deleted, and may register again", async () => {
    await tree.startEdgeAgent("edge-10");
    expect((await bed.send("DELETE", at("Edge", ["edge-10", "edge-10"]))).status).toBe(200);
    expect((await bed.get(at("EdgeDC", ["edge-10", "edge-10"]))).status).toBe(404);
    await tree.startEdgeAgent("edge-10");
    expect((await bed.get(at("EdgeDC", ["edge-10", "edge-10"]))).status).toBe(200);
  });
});

describe("eps-scheduler beside Busbar", () => {
  const scheduler = (): OldScheduler => new OldScheduler(tree);
  const request = async (name: string): Promise<void> => {
    const spec = { jobId: 1, powerNeeded: 100, creationTime: 1 };
    expect((await tree.post("Job", ["DefaultGroup", name], { spec })).status).toBe(201);
  };

  test("finds nothing to do: Busbar places everything before it looks", async () => {
    await tree.startEdgeAgent("edge-10");
    await tree.makeGroup("DefaultGroup");
    await request("job-1");
    await request("job-2");
    await eventually(async () => (await tree.list("JobInfo")).length === 1, { what: "a share" });
    expect(await scheduler().reconcile()).toEqual([]);
    expect(await scheduler().tellStatistics()).toBe(200);
    const stats = await tree.read("SchedulerConfig", []);
    expect(stats.status.state).toMatchObject({ jobsQueued: 2, busyEdges: 1 });
  });

  test("gets a rejection for a share on an edge without power, and continues", async () => {
    await tree.startEdgeAgent("edge-10");
    await tree.post("Edge", ["edge-11", "edge-11"]);
    await tree.makeGroup("DefaultGroup");
    await request("job-1");
    await request("job-2");
    await eventually(async () => (await tree.list("JobInfo")).length === 1, { what: "a share" });
    const before = await tree.read("Job", ["DefaultGroup", "job-2"]);
    const [given, ...others] = await scheduler().reconcile();
    expect(others).toEqual([]);
    expect(given).toMatchObject({ job: "job-2", edge: "edge-11" });
    expect(given?.made).toMatchObject({ status: 403, body: { reason: "Forbidden" } });
    expect(given?.told).toMatchObject({ status: 200 });
    expect(await tree.read("Job", ["DefaultGroup", "job-2"])).toEqual(before);
  });
});

test("eps-perf creates and writes jobs by plain names, without labels", async () => {
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
