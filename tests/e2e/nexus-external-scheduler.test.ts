import { afterAll, beforeAll, expect, test } from "vitest";
import { OldPrograms, type TreeReply } from "../../src/api/nexus/testing/old-programs.ts";
import { OldScheduler } from "../../src/api/nexus/testing/old-scheduler.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { NexusSite } from "../conformance/support/nexus.ts";

// The recorded calls of the old scheduler, edge agent and requester, with the server killed between any two of them.
let site: NexusSite;
beforeAll(async () => {
  site = new NexusSite();
  await site.startNexus("--nexus-external-scheduler");
});
afterAll(() => site.close());

const send = async (
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<TreeReply> => {
  const response = await fetch(`http://${site.nexus}${path}`, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

const kill = async (...flags: string[]): Promise<void> => {
  await site.killServer();
  await site.startNexus(...flags);
};

const tree = new OldPrograms(send);
const now = (): number => Math.floor(Date.now() / 1_000);

const request = async (name: string, powerNeeded: number): Promise<void> => {
  const spec = { jobId: 1, powerNeeded, creationTime: now() };
  expect((await tree.post("Job", ["DefaultGroup", name], { spec })).status).toBe(201);
};
const percentOf = async (name: string): Promise<unknown> =>
  (await tree.read("Job", ["DefaultGroup", name])).status.state["percentCompleted"];

const infoOf = (name: string) => ["edge-10", "edge-10", `${name}-edge-10`];
const report = async (name: string, progress: number): Promise<void> => {
  const state = { progress, startTime: now(), endTime: now() };
  expect((await tree.putStatus("JobInfo", infoOf(name), state)).status).toBe(200);
};

test("a job is assigned, done and deleted by calls that each reach another server", async () => {
  const external = "--nexus-external-scheduler";
  const scheduler = new OldScheduler(tree, () => kill(external));
  await tree.startEdgeAgent("edge-10");
  await tree.makeGroup("DefaultGroup");
  await request("job-1", 329);
  await kill(external);
  expect(await tree.list("JobInfo")).toEqual([]);
  await site.nodeIs("edge-10", "connected");
  const [given] = await scheduler.reconcile(now());
  expect([given?.made.status, given?.told.status]).toEqual([201, 200]);
  await site.nodeIs("edge-10", "connected");
  const share = { powerRequested: 329, progress: 0 };
  expect((await tree.read("Job", ["DefaultGroup", "job-1"])).status.state).toMatchObject({
    percentCompleted: 0,
    execution: { "job-1-edge-10": share },
  });
  await report("job-1", 0);
  await kill(external);
  expect(await scheduler.reconcile(now())).toEqual([]);
  await site.nodeIs("edge-10", "connected");
  await report("job-1", 100);
  await kill(external);
  expect(await percentOf("job-1")).toBe(100);
  const [info] = await tree.list("JobInfo");
  expect(info && (await scheduler.shareIsDone(info))).toEqual([200, 200]);
  await kill(external);
  expect(await tree.list("JobInfo")).toEqual([]);
  expect(await percentOf("job-1")).toBe(100);
});

test("without the flag the server continues with that scheduler's state, and rejects its shares", async () => {
  await request("job-2", 100);
  await site.nodeIs("edge-10", "connected");
  expect(await tree.list("JobInfo")).toEqual([]);
  await kill();
  await eventually(async () => (await tree.get("JobInfo", infoOf("job-2"))).status === 200, {
    what: "the server to assign the share itself",
    timeoutMs: 60_000,
  });
  const spec = { requestorJob: "job-2", requestorJobGroup: "DefaultGroup", powerNeeded: 100 };
  const other = ["edge-10", "edge-10", "job-1-edge-10"];
  const mine = { ...spec, requestorJob: "job-1" };
  expect((await tree.post("JobInfo", other, { spec: mine })).status).toBe(403);
  await site.nodeIs("edge-10", "connected");
  await report("job-2", 0);
  await report("job-2", 100);
  expect(await percentOf("job-2")).toBe(100);
});
