import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { aNexusBed } from "./testing/nexus-bed.ts";
import { at, OldPrograms } from "./testing/old-programs.ts";
import { OldScheduler } from "./testing/old-scheduler.ts";

// With --nexus-external-scheduler: Busbar assigns no shares of jobs with energy.
let bed: Awaited<ReturnType<typeof aNexusBed>>;
let tree: OldPrograms;
let scheduler: OldScheduler;
beforeEach(async () => {
  bed = await aNexusBed({ isSchedulerExternal: true });
  tree = new OldPrograms(bed.send);
  scheduler = new OldScheduler(tree);
  await tree.makeGroup("DefaultGroup");
});
afterEach(() => bed.close());

const JOB = ["DefaultGroup", "job-1"] as const;
const INFO = ["edge-10", "edge-10", "job-1-edge-10"] as const;

const request = async (name: string, powerNeeded: number, creationTime = 1): Promise<void> => {
  const spec = { jobId: 1, powerNeeded, creationTime };
  expect((await tree.post("Job", ["DefaultGroup", name], { spec })).status).toBe(201);
};

const now = (): number => Math.floor(bed.clock.nowMs() / 1_000);

const report = (info: readonly string[], progress: number) =>
  tree.putStatus("JobInfo", info, { progress, startTime: now(), endTime: now() });

/** Reports in between become durable with the next durable change. */
const isAt = (percent: number) =>
  eventually(
    async () => {
      bed.clock.advance(1_000);
      return (await tree.read("Job", JOB)).status.state["percentCompleted"] === percent;
    },
    { what: `the job at ${percent} %` },
  );

const assign = (info: readonly string[], spec: object) => tree.post("JobInfo", info, { spec });
const WHOLE = { requestorJob: "job-1", requestorJobGroup: "DefaultGroup", powerNeeded: 329 };

test("a job waits for that scheduler, which assigns it to an edge, and ends with its energy", async () => {
  await tree.startEdgeAgent("edge-10");
  await request("job-1", 329);
  const { id } = (await bed.plane.operations.listJobs({}, {})).jobs[0] ?? { id: "" };
  const told = await bed.plane.operations.explainJob(id);
  expect(told.summary).toContain("329 Ws are not assigned: an external scheduler assigns them");
  expect(await tree.list("JobInfo")).toEqual([]);

  const [given] = await scheduler.reconcile(now());
  expect(given?.made).toMatchObject({ status: 201, body: { kind: "JobInfo", spec: WHOLE } });
  expect(given?.told.body).toMatchObject({
    status: {
      state: { percentCompleted: 0, execution: { "job-1-edge-10": { powerRequested: 329 } } },
    },
  });
  // Nothing may be done twice.
  expect(await scheduler.reconcile(now())).toEqual([]);
  expect(await scheduler.tellStatistics()).toBe(200);

  await report(INFO, 0);
  expect((await bed.plane.operations.getJob(id)).state).toBe("running");
  await report(INFO, 100);
  expect(await scheduler.shareIsDone(await tree.read("JobInfo", INFO))).toEqual([200, 200]);
  expect((await tree.get("JobInfo", INFO)).status).toBe(404);
  expect((await bed.plane.operations.getJob(id)).state).toBe("succeeded");
  expect((await tree.read("Job", JOB)).status.state).toMatchObject({
    percentCompleted: 100,
    execution: { "job-1-edge-10": { powerRequested: 329, progress: 100 } },
  });
});

test("progress that the scheduler writes to a job does not count as done energy", async () => {
  await tree.startEdgeAgent("edge-10");
  await request("job-1", 329);
  await scheduler.reconcile(now());
  const { status, body } = await tree.putStatus("Job", JOB, { percentCompleted: 100 });
  expect({ status, state: (body["status"] as { state: object }).state }).toMatchObject({
    status: 200,
    state: { percentCompleted: 0 },
  });
});

describe("a share is rejected, and nothing changes", () => {
  const NONE = { status: 409, body: { reason: "Conflict" } };
  const cases = [
    {
      name: "more than the job",
      path: INFO,
      spec: { ...WHOLE, powerNeeded: 330 },
      want: { status: 422, text: "is more than the 329 watt-seconds" },
    },
    {
      name: "no energy",
      path: INFO,
      spec: { ...WHOLE, powerNeeded: 0 },
      want: { status: 400, text: "spec.powerNeeded: must be at least 1" },
    },
    {
      name: "a job that is not there",
      path: ["edge-10", "edge-10", "job-7-edge-10"],
      spec: { ...WHOLE, requestorJob: "job-7" },
      want: { status: 422, text: 'group "DefaultGroup" has no job "job-7"' },
    },
    {
      name: "an edge that is not there",
      path: ["edge-10", "edge-99", "job-1-edge-99"],
      spec: WHOLE,
      want: { status: 422, text: 'site "edge-10" has no edge "edge-99"' },
    },
    {
      name: "a name of its own",
      path: ["edge-10", "edge-10", "mine"],
      spec: WHOLE,
      want: { status: 400, text: "must be job-1-edge-10" },
    },
    {
      name: "no job",
      path: INFO,
      spec: { requestorJobGroup: "DefaultGroup", powerNeeded: 1 },
      want: { status: 400, text: "spec.requestorJob: is missing" },
    },
    {
      name: "an edge without power",
      path: ["edge-10", "dark", "job-1-dark"],
      spec: WHOLE,
      want: { status: 409, text: "node dark: has no power now" },
    },
  ];
  for (const { name, path, spec, want } of cases) {
    test(name, async () => {
      await tree.startEdgeAgent("edge-10");
      await tree.post("Edge", ["edge-10", "dark"]);
      await request("job-1", 329);
      const before = await tree.read("Job", JOB);
      const { status, body } = await assign(path, spec);
      expect(status).toBe(want.status);
      expect(body["message"]).toContain(want.text);
      expect(await tree.read("Job", JOB)).toEqual(before);
      expect(await tree.list("JobInfo")).toEqual([]);
    });
  }

  test("of two schedulers the second one is rejected, and a share for a busy edge", async () => {
    await tree.startEdgeAgent("edge-10");
    await tree.startEdgeAgent("edge-11");
    await request("job-1", 329);
    await request("job-2", 100, 2);
    expect((await assign(INFO, WHOLE)).status).toBe(201);
    expect((await assign(INFO, WHOLE)).body).toMatchObject({ reason: "AlreadyExists" });
    const twice = await assign(["edge-11", "edge-11", "job-1-edge-11"], WHOLE);
    expect(twice).toMatchObject(NONE);
    expect(twice.body["message"]).toContain("all of its energy is assigned already");
    const spec = { ...WHOLE, requestorJob: "job-2", powerNeeded: 100 };
    const busy = await assign(["edge-10", "edge-10", "job-2-edge-10"], spec);
    expect(busy).toMatchObject(NONE);
    expect(busy.body["message"]).toMatch(/node edge-10: busy/);
    expect((await bed.send("DELETE", at("Job", JOB))).status).toBe(200);
    const ended = await assign(["edge-11", "edge-11", "job-1-edge-11"], WHOLE);
    expect(ended.body["message"]).toContain('has no job "job-1"');
  });
});

test("a deleted share is taken back: its work counts, and the rest is assigned again", async () => {
  await tree.startEdgeAgent("edge-10");
  await request("job-1", 300);
  await scheduler.reconcile(now());
  await report(INFO, 0);
  await report(INFO, 50);
  await isAt(50);
  expect((await bed.send("DELETE", at("JobInfo", INFO))).status).toBe(200);
  expect((await tree.get("JobInfo", INFO)).status).toBe(404);
  // Its agent, which reports it once more, gets no answer that would end it.
  const late = { kind: "jobinfos", metadata: {}, status: { state: { progress: 100 } } };
  expect((await bed.send("PUT", `${at("JobInfo", INFO)}/status`, late)).status).toBe(200);
  await isAt(50);
  const [again] = await scheduler.reconcile(now());
  // The scheduler requests the whole job, and gets the rest.
  expect(again?.made).toMatchObject({ status: 201, body: { spec: { powerNeeded: 150 } } });
  const second = [...INFO.slice(0, 2), "job-1-edge-10.2"];
  await report(second, 0);
  await report(second, 100);
  await isAt(100);
  const { energy, state } = (await bed.plane.operations.listJobs({}, {})).jobs[0] ?? {};
  expect({ energy, state }).toMatchObject({ energy: { doneWattSeconds: 300 }, state: "succeeded" });
});

test("the rest of a share whose edge is lost is assigned to another", async () => {
  await tree.startEdgeAgent("edge-10");
  await request("job-1", 300);
  await scheduler.reconcile(now());
  await report(INFO, 0);
  await report(INFO, 50);
  await isAt(50);
  expect((await bed.send("DELETE", at("Edge", ["edge-10", "edge-10"]))).status).toBe(200);
  expect(await scheduler.reconcile(now())).toEqual([]);
  await tree.startEdgeAgent("edge-11");
  const [given] = await scheduler.reconcile(now());
  expect(given?.made).toMatchObject({ status: 201, body: { spec: { powerNeeded: 150 } } });
});

test("a site keeps the label that the scheduler sets, except beside jobs that end a requester", async () => {
  await tree.startEdgeAgent("edge-10");
  await scheduler.reconcile(now());
  const label = async (): Promise<string | undefined> =>
    (await tree.read("SiteDC", ["edge-10"])).metadata.labels["jobgroups.jobgroup.intel.com"];
  expect(await label()).toBe("DefaultGroup");
  await request("my-report", 10);
  await scheduler.reconcile(now());
  expect(await tree.list("JobInfo")).toHaveLength(1);
  expect(await label()).toBeUndefined();
  const report1 = ["edge-10", "edge-10", "my-report-edge-10"];
  await report(report1, 0);
  await report(report1, 100);
  expect(await label()).toBe("DefaultGroup");
});
