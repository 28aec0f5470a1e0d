import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../limits.ts";
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

describe("a job from requester to edge and back", () => {
  const JOB = ["DefaultGroup", "job-1"] as const;
  const INFO = ["edge-10", "edge-10", "job-1-edge-10"] as const;
  const now = (): number => Math.floor(bed.clock.nowMs() / 1_000);

  const request = async (): Promise<void> => {
    expect((await post("Jobgroup", ["DefaultGroup"])).status).toBe(201);
    const spec = { jobId: 1, powerNeeded: 329, creationTime: now() };
    const { status, body } = await post("Job", JOB, { spec });
    expect(status).toBe(201);
    expect(body).toMatchObject({ kind: "Job", spec });
    expect((await post("Job", JOB, { spec })).body).toMatchObject({ reason: "AlreadyExists" });
  };
  const placed = () =>
    eventually(async () => (await bed.get(at("JobInfo", INFO))).status === 200, {
      what: "a JobInfo",
    });

  /** Time goes by, with signs of life of those that are thought to live. */
  const pass = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += limits.nexusEdgeBeatMs) {
      bed.clock.advance(limits.nexusEdgeBeatMs);
      bed.door.edges.review();
      await new Promise(setImmediate);
    }
  };

  test("is placed, begun, done and deleted", async () => {
    await startEdgeAgent("edge-10");
    const seen = await bed.watch(`${at("JobInfo")}?watch=true`);
    await request();
    await placed();
    expect((await read("JobInfo", INFO)).spec).toEqual({
      requestorJob: "job-1",
      requestorJobGroup: "DefaultGroup",
      powerNeeded: 329,
    });
    expect((await read("Job", JOB)).status.state).toMatchObject({
      percentCompleted: 0,
      execution: { "job-1-edge-10": { powerRequested: 329, progress: 0 } },
    });
    const site = await read("SiteDC", ["edge-10"]);
    expect(site.metadata.labels["jobgroups.jobgroup.intel.com"]).toBe("DefaultGroup");

    const startTime = now();
    const began = await putStatus("JobInfo", INFO, { progress: 0, startTime, endTime: startTime });
    expect(began.body).toMatchObject({ kind: "JobInfo", status: { state: { startTime } } });
    await pass(60_000);
    const endTime = now();
    const done = await putStatus("JobInfo", INFO, { progress: 100, startTime, endTime });
    expect(done.body).toMatchObject({ status: { state: { progress: 100, endTime } } });
    expect((await read("Job", JOB)).status.state).toEqual({
      percentCompleted: 100,
      startTime,
      endTime,
      execution: { "job-1-edge-10": { powerRequested: 329, startTime, endTime, progress: 100 } },
    });
    expect((await read("Edge", ["edge-10", "edge-10"])).status.state).toMatchObject({
      totalJobsProcessed: 1,
      totalPowerServed: 329,
      currentJob: "",
    });

    expect((await bed.send("DELETE", at("Job", JOB))).status).toBe(200);
    expect((await bed.get(at("Job", JOB))).status).toBe(404);
    await eventually(() => seen.lines.at(-1)?.type === "DELETED", { what: "the share to go" });
    expect(seen.lines[0]?.type).toBe("ADDED");
    const versions = seen.lines.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    // Its name may be used again.
    await bed.send("POST", at("Job"), {
      metadata: { name: "job-1", labels: treeLabels(KINDS.Job, JOB) },
      spec: {},
    });
    expect((await read("Job", JOB)).status.state).toMatchObject({ percentCompleted: 100 });
  });

  test("is split only where that ends it earlier, for edges that look at it once a minute", async () => {
    for (const edge of ["edge-1", "edge-2", "edge-3"]) await startEdgeAgent("edge-g", edge);
    const executionOf = async (name: string, powerNeeded: number): Promise<unknown[]> => {
      await post("Job", ["DefaultGroup", name], { spec: { jobId: 1, powerNeeded } });
      const { status } = await read("Job", ["DefaultGroup", name]);
      const shares = Object.values(status.state["execution"] as Record<string, object>);
      return shares.map((share) => (share as { powerRequested: number }).powerRequested);
    };
    expect(await executionOf("job-1", 500)).toEqual([500]);
    expect(await executionOf("job-2", 1_500)).toEqual([1_080, 420]);
  });

  test("is given up by an edge that never begins it, and what is left goes elsewhere", async () => {
    await startEdgeAgent("edge-10");
    await request();
    await placed();
    await pass(240_000);
    await eventually(
      async () => (await bed.plane.operations.getNode("edge-10")).state !== "connected",
      {
        what: "the edge to be given up",
      },
    );
    await startEdgeAgent("edge-11");
    await pass(120_000);
    const other = ["edge-11", "edge-11", "job-1-edge-11"];
    await eventually(async () => (await bed.get(at("JobInfo", other))).status === 200, {
      what: "the job on the other edge",
    });
    // Should the first one live after all, and tell of it, it does not end itself over it.
    const late = { kind: "jobinfos", metadata: {}, status: { state: { progress: 100 } } };
    expect((await bed.send("PUT", `${at("JobInfo", INFO)}/status`, late)).status).toBe(200);
  });
});
