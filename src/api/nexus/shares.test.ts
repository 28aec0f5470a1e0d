import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../limits.ts";
import { eventually } from "../../testing/eventually.ts";
import { KINDS } from "./model/kinds.ts";
import { treeLabels } from "./model/names.ts";
import { aNexusBed } from "./testing/nexus-bed.ts";
import { at, OldPrograms } from "./testing/old-programs.ts";

// The recorded calls of the unmodified programs.
let bed: Awaited<ReturnType<typeof aNexusBed>>;
let tree: OldPrograms;
beforeEach(async () => {
  bed = await aNexusBed();
  tree = new OldPrograms(bed.send);
});
afterEach(() => bed.close());

describe("a job from requester to edge and back", () => {
  const JOB = ["DefaultGroup", "job-1"] as const;
  const INFO = ["edge-10", "edge-10", "job-1-edge-10"] as const;
  const now = (): number => Math.floor(bed.clock.nowMs() / 1_000);

  const request = async (): Promise<void> => {
    expect((await tree.post("Jobgroup", ["DefaultGroup"])).status).toBe(201);
    const spec = { jobId: 1, powerNeeded: 329, creationTime: now() };
    const { status, body } = await tree.post("Job", JOB, { spec });
    expect(status).toBe(201);
    expect(body).toMatchObject({ kind: "Job", spec });
    expect((await tree.post("Job", JOB, { spec })).body).toMatchObject({ reason: "AlreadyExists" });
  };
  const placed = () =>
    eventually(async () => (await bed.get(at("JobInfo", INFO))).status === 200, {
      what: "a JobInfo",
    });

  /** Time passes, with signs of life of the agents that count as alive. */
  const pass = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += limits.nexusEdgeBeatMs) {
      bed.clock.advance(limits.nexusEdgeBeatMs);
      bed.door.edges.review();
      await new Promise(setImmediate);
    }
  };

  test("is placed, begun, done and deleted", async () => {
    await tree.startEdgeAgent("edge-10");
    const seen = await bed.watch(`${at("JobInfo")}?watch=true`);
    await request();
    await placed();
    expect((await tree.read("JobInfo", INFO)).spec).toEqual({
      requestorJob: "job-1",
      requestorJobGroup: "DefaultGroup",
      powerNeeded: 329,
    });
    expect((await tree.read("Job", JOB)).status.state).toMatchObject({
      percentCompleted: 0,
      execution: { "job-1-edge-10": { powerRequested: 329, progress: 0 } },
    });
    const site = await tree.read("SiteDC", ["edge-10"]);
    expect(site.metadata.labels["jobgroups.jobgroup.intel.com"]).toBe("DefaultGroup");

    const startTime = now();
    const began = await tree.putStatus("JobInfo", INFO, {
      progress: 0,
      startTime,
      endTime: startTime,
    });
    expect(began.body).toMatchObject({ kind: "JobInfo", status: { state: { startTime } } });
    await pass(60_000);
    const endTime = now();
    const done = await tree.putStatus("JobInfo", INFO, { progress: 100, startTime, endTime });
    expect(done.body).toMatchObject({ status: { state: { progress: 100, endTime } } });
    expect((await tree.read("Job", JOB)).status.state).toEqual({
      percentCompleted: 100,
      startTime,
      endTime,
      execution: { "job-1-edge-10": { powerRequested: 329, startTime, endTime, progress: 100 } },
    });
    expect((await tree.read("Edge", ["edge-10", "edge-10"])).status.state).toMatchObject({
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
    expect((await tree.read("Job", JOB)).status.state).toMatchObject({ percentCompleted: 100 });
  });

  test("is split only where that ends it earlier, for edges that check for work once a minute", async () => {
    for (const edge of ["edge-1", "edge-2", "edge-3"]) await tree.startEdgeAgent("edge-g", edge);
    const executionOf = async (name: string, powerNeeded: number): Promise<unknown[]> => {
      await tree.post("Job", ["DefaultGroup", name], { spec: { jobId: 1, powerNeeded } });
      const { status } = await tree.read("Job", ["DefaultGroup", name]);
      const shares = Object.values(status.state["execution"] as Record<string, object>);
      return shares.map((share) => (share as { powerRequested: number }).powerRequested);
    };
    expect(await executionOf("job-1", 500)).toEqual([500]);
    expect(await executionOf("job-2", 1_500)).toEqual([1_080, 420]);
  });

  test("is taken from an edge that never begins it, and the rest goes elsewhere", async () => {
    await tree.startEdgeAgent("edge-10");
    await request();
    await placed();
    await pass(240_000);
    await eventually(
      async () => (await bed.plane.operations.getNode("edge-10")).state !== "connected",
      {
        what: "the edge to be given up",
      },
    );
    await tree.startEdgeAgent("edge-11");
    await pass(120_000);
    const other = ["edge-11", "edge-11", "job-1-edge-11"];
    await eventually(async () => (await bed.get(at("JobInfo", other))).status === 200, {
      what: "the job on the other edge",
    });
    // If the first agent is alive after all, and reports the share, it does not end itself because of the answer.
    const late = { kind: "jobinfos", metadata: {}, status: { state: { progress: 100 } } };
    expect((await bed.send("PUT", `${at("JobInfo", INFO)}/status`, late)).status).toBe(200);
  });
});

test("an edge that connects while others are checked is not cut off", async () => {
  const attached = bed.door.edges.attach("edge-10", "edge-10");
  bed.door.edges.review();
  await attached;
  expect((await bed.plane.operations.getNode("edge-10")).state).toBe("connected");
});

describe("jobs of one name in two groups", () => {
  const spec = { jobId: 1, powerNeeded: 100 };
  const done = async (name: string): Promise<void> => {
    const info = ["edge-10", "edge-10", name];
    await eventually(async () => (await tree.get("JobInfo", info)).status === 200, { what: name });
    const state = { startTime: 1, endTime: 1 };
    await tree.putStatus("JobInfo", info, { ...state, progress: 0 });
    await tree.putStatus("JobInfo", info, { ...state, progress: 100 });
  };

  test("have JobInfos of different names at one edge, and each its own execution", async () => {
    await tree.startEdgeAgent("edge-10");
    for (const group of ["gen-0", "gen-1"]) {
      expect((await tree.post("Job", [group, "job-1"], { spec })).status).toBe(201);
    }
    await done("job-1-edge-10");
    await done("job-1.gen-1-edge-10");
    const infos = await tree.list("JobInfo");
    expect(new Set(infos.map(({ metadata }) => metadata.name)).size).toBe(2);
    expect(infos.map((info) => info.spec["requestorJob"])).toEqual(["job-1", "job-1"]);
    const second = await tree.read("Job", ["gen-1", "job-1"]);
    expect(second.status.state).toMatchObject({
      percentCompleted: 100,
      execution: { "job-1.gen-1-edge-10": { progress: 100 } },
    });
    expect(Object.keys(second.metadata.labels)).not.toContain("nexus.shares-as");
  });

  test("that are created at the same moment differ too; the same one is created once", async () => {
    await tree.startEdgeAgent("edge-10");
    const answers = await Promise.all(
      ["gen-0", "gen-1", "gen-0"].map((group) => tree.post("Job", [group, "job-1"], { spec })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 201, 409]);
    expect((await bed.plane.operations.listJobs({}, {})).jobs).toHaveLength(2);
    await done("job-1-edge-10");
    await done("job-1.gen-1-edge-10");
  });
});

test("edges of agents that all stopped watching are given up after a minute", async () => {
  await tree.startEdgeAgent("edge-10");
  const headers = { "user-agent": "eps-edge-agent/v0.0.0 (linux/amd64) kubernetes/$Format" };
  const stateOf = async (): Promise<string> =>
    (await bed.plane.operations.getNode("edge-10")).state;
  const watch = await bed.watch(`${at("JobInfo")}?watch=true&timeoutSeconds=1`, headers);
  bed.clock.advance(limits.nexusDesertedMs + 1);
  bed.door.edges.review();
  expect(await stateOf()).toBe("connected"); // a client watches
  await eventually(() => watch.isOver, { what: "the watch to end" });
  await eventually(
    async () => {
      bed.clock.advance(limits.nexusDesertedMs + 1);
      bed.door.edges.review();
      return (await stateOf()) !== "connected";
    },
    { what: "the edge to be given up" },
  );
});
