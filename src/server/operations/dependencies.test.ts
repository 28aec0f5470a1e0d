import { expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { anObedientAgent } from "../../testing/fake-agent.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import type { TestPlane } from "../../testing/plane.ts";
import { usePlanes } from "../../testing/use-planes.ts";
import type { JobSpecInput } from "../../core/model/job/job-spec.ts";
import { limits } from "../../limits.ts";
import { createMemoryStore, MemoryDisk } from "../../store/memory/memory-store.ts";

const aPlane = usePlanes();

async function open(disk = new MemoryDisk()): Promise<TestPlane> {
  const { plane } = await aPlane({ store: createMemoryStore(disk), clock: new FakeClock() });
  return plane;
}

const submit = (plane: TestPlane, ...specs: readonly JobSpecInput[]) =>
  plane.operations.submitJobs(specs.map((spec) => ({ spec: { command: ["true"], ...spec } })));

const stateOf = async (plane: TestPlane, id: string): Promise<string> =>
  (await plane.operations.getJob(id)).state;

test("a chain longer than one round is skipped to its end", async () => {
  const plane = await open();
  const count = 2 * limits.settlementsPerRoundMax + 7;
  await submit(plane, { name: "j0" });
  const chain = Array.from({ length: count }, (_, at) => ({
    name: `j${at + 1}`,
    dependsOn: [{ on: [`j${at}`] }],
  }));
  await submit(plane, ...chain);
  await plane.operations.cancelJob("1", "");
  await eventually(async () => (await stateOf(plane, String(count + 1))) === "skipped", {
    what: "the last is skipped",
  });
  const { jobs, tasks } = await plane.operations.countJobs();
  expect([jobs.skipped, jobs.cancelled, tasks.skipped]).toEqual([count, 1, count]);
});

test("explain shows the dependencies of a pending job, and those of a skipped one", async () => {
  const plane = await open();
  await submit(
    plane,
    { name: "a", array: "0-2" },
    { name: "b" },
    { name: "c", dependsOn: [{ on: ["a.1", "b"] }, { kind: "singleton", name: "s" }] },
    { name: "d", dependsOn: [{ kind: "singleton", name: "s" }] },
  );
  expect(await plane.operations.getJob("3")).toMatchObject({
    state: "pending",
    reason: "waits for task 1.1 (a) and job 2 (b) to succeed",
  });
  expect((await plane.operations.explainJob("4")).summary).toBe(
    "it waits for job 3 (c) to end (singleton s)",
  );
  await plane.operations.cancelJob("1.1", "");
  expect(await plane.operations.explainJob("3")).toMatchObject({
    state: "skipped",
    summary: "task 1.1 (a) was cancelled; it had to succeed",
    dependencies: [
      { jobId: "1.1", name: "a", state: "cancelled", met: false, impossible: true },
      { jobId: "2", name: "b", state: "pending", met: false, impossible: false },
    ],
  });
  // The released job waits for a node like any other; tasks that waited with it do not go before it.
  expect((await plane.operations.explainJob("4")).summary).toContain("no node has joined yet");
});

test("tasks of jobs with open dependencies do not count as ahead of a queued job", async () => {
  const plane = await open();
  await submit(plane, { name: "a" }, { name: "b", array: "0-99", dependsOn: [{ on: ["a"] }] });
  await submit(plane, { name: "c" });
  expect((await plane.operations.explainJob("3")).ahead).toBe(1);
});

test("the next server recomputes a decision that was known and not stored", async () => {
  const disk = new MemoryDisk();
  const first = await open(disk);
  await submit(first, { name: "a" }, { name: "b", dependsOn: [{ kind: "afternotok", on: ["a"] }] });
  await first.operations.cancelJob("1", "");
  await first.close();
  // Simulates a server that died between the two: restores the dependent's earlier row.
  const key = "job/0000000002";
  const stored = disk.rows.get(key) ?? expect.fail("it is stored");
  const row = JSON.parse(stored.value) as object;
  const waitsFor = [{ kind: "jobs", when: "not-ok", atLeast: 1, of: [{ jobId: 1 }] }];
  disk.rows.set(key, { ...stored, value: JSON.stringify({ waitsFor, ...row }) });
  const second = await open(disk);
  await eventually(() => second.state.jobs.getOpen(2 as never)?.job.waitsFor === undefined, {
    what: "it is released",
  });
  expect(second.state.jobs.getOpen(2 as never)?.lane).toBeDefined();
});

test.each([
  ["what was for a failure that did not come was not needed", 0, "afternotok", [0, 0]],
  ["what was for a success that did not come is missing", 1, "afterok", [undefined, undefined]],
] as const)("%s", async (_, exitCode, kind, wanted) => {
  const plane = await open();
  await anObedientAgent(plane, exitCode);
  await submit(
    plane,
    { name: "work" },
    { name: "then", dependsOn: [{ kind, on: ["work"] }] },
    { name: "after that", dependsOn: [{ on: ["then"] }] },
  );
  const skipped = async (id: string) => (await plane.operations.getJob(id)).state === "skipped";
  await eventually(() => skipped("3"), { what: "both are skipped" });
  const codes = ["2", "3"].map(async (id) => (await plane.operations.getJob(id)).exitCode);
  expect(await Promise.all(codes)).toEqual(wanted);
});
