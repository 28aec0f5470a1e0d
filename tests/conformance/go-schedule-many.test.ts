import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Running } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";
import {
  counted,
  type GoTask,
  GoScheduleSite,
  idsOf,
  type KnownTask,
} from "./support/go-schedule.ts";

let site: GoScheduleSite;
beforeEach(() => {
  site = new GoScheduleSite();
}, 300_000);
afterEach(() => site.close());

const MANY = 1_000;
const times = (count: number, task: GoTask): GoTask[] => Array.from({ length: count }, () => task);

async function startThree(...flags: string[]): Promise<readonly Running[]> {
  await site.startGoSchedule(...flags);
  const workers = ["one", "two", "three"].map((name) => site.startWorker(name));
  await site.nodesAre(3);
  return workers;
}

/** Prints that it ran, and its attempt. */
const telling = (): GoTask => ({
  cmd: "sh",
  params: ["-c", `echo "$BUSBAR_TASK_ID $BUSBAR_ATTEMPT" >>"${site.path("ran")}"`],
});

/** Schedules many tasks, and returns their ids when a third of them has run. */
async function inTheMiddle(): Promise<readonly string[]> {
  const rows = await site.schedule(times(MANY, telling()));
  const isMiddle = () => site.lines("ran").length >= MANY / 3;
  await eventually(isMiddle, { what: "a third to run", timeoutMs: 60_000 });
  expect(site.lines("ran").length).toBeLessThan(MANY);
  return idsOf(rows);
}

async function knownTasks(ids: readonly string[]): Promise<readonly KnownTask[]> {
  const known: KnownTask[] = [];
  for (const id of ids) known.push(await site.task(id));
  return known;
}

/** As go-schedule's users see it: all done, none left in another state. */
async function allDone(ids: readonly string[]): Promise<void> {
  await site.allSucceed(ids.length);
  const rows = await site.list("tasks");
  expect(counted(rows.map(([, state]) => state))).toEqual({ done: ids.length });
  expect(idsOf(rows)).toEqual(ids.toReversed());
}

async function eachRanOnce(ids: readonly string[]): Promise<void> {
  await allDone(ids);
  expect(site.lines("ran")).toEqual(ids.map((id) => `${id} 1`).toSorted());
  const tasks = await knownTasks(ids);
  expect(counted(tasks.map(({ attempt }) => String(attempt)))).toEqual({ 1: ids.length });
}

describe("a thousand tasks on three workers", () => {
  test("end done, each after one attempt, on all three workers", async () => {
    await startThree();
    const ids = idsOf(await site.schedule(times(MANY, { cmd: "true" })));
    await allDone(ids);
    const tasks = await knownTasks(ids);
    expect(counted(tasks.map(({ attempt }) => String(attempt)))).toEqual({ 1: MANY });
    expect(Object.keys(counted(tasks.map(({ node }) => node)))).toHaveLength(3);
  });

  test("run once each, though a worker is killed in the middle and restarted", async () => {
    const [victim] = await startThree();
    const ids = await inTheMiddle();
    await victim?.end("SIGKILL");
    await site.nodesAre(2);
    site.startWorker("one");
    await site.nodesAre(3);
    await eachRanOnce(ids);
    expect(await site.list("workers")).toHaveLength(3);
  });

  test("all end, though a worker is killed in the middle and stays away", async () => {
    const [victim] = await startThree("--node-lost-after", "2s");
    const ids = await inTheMiddle();
    await victim?.end("SIGKILL");
    await allDone(ids);
    // Tasks of that worker may have run there to their end, unseen, and then elsewhere: never three times.
    const ran = counted(site.lines("ran").map((line) => line.split(" ")[0]));
    expect(Object.keys(ran).toSorted()).toEqual(ids.toSorted());
    expect(Math.max(...Object.values(ran))).toBeLessThanOrEqual(2);
    expect(new Set(site.lines("ran")).size).toBe(site.lines("ran").length);
    await site.nodesAre(2);
  });

  test("run once each, though the server is killed in the middle and restarted", async () => {
    await startThree();
    const ids = await inTheMiddle();
    await site.killServer();
    await site.startGoSchedule();
    await eachRanOnce(ids);
    expect(await site.list("workers")).toHaveLength(3);
  });
});

test("a worker of go-schedule and an agent of Busbar share one queue", async () => {
  await site.startGoSchedule();
  site.startWorker("one");
  await site.nodesAre(1);
  await site.startAgent("own", "--cpu", "2");
  await site.nodesAre(2);
  const nodes = await site.list("workers");
  expect(nodes.map(([, , state]) => state)).toEqual(["connected", "connected"]);
  const ids = idsOf(await site.schedule(times(60, telling())));
  await eachRanOnce(ids);
  const used = counted((await knownTasks(ids)).map(({ node }) => node));
  expect(Object.keys(used).toSorted()).toEqual(idsOf(nodes).toSorted());
});

test("one call accepts 20,000 tasks, and 60,000 are listed, before schedctl gives up", async () => {
  await site.startGoSchedule();
  const tasks = times(20_000, { cmd: "true", params: ["x".repeat(100)] });
  const rows = await site.schedule(tasks);
  expect(rows).toHaveLength(20_000);
  expect(new Set(idsOf(rows)).size).toBe(20_000);
  await site.schedule(tasks);
  const newest = (await site.schedule(tasks)).at(-1);
  const listed = await site.list("tasks"); // of at most 4 MiB, or it fails
  expect(listed[0]).toEqual(newest);
  expect(listed.length).toBeGreaterThan(20_000);
  const refused = await site.trySchedule(times(20_001, { cmd: "true" }));
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("20000")]);
});
