import { spawn, type ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { afterEach, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { Site } from "../support/busbar.ts";

const TASKS = 5_000;
const BUSY_PER_CPU = 4; // processes that only compute; nice, because other tests run at the same time

let site: Site | undefined;
const busy: ChildProcess[] = [];
afterEach(async () => {
  for (const child of busy.splice(0)) child.kill("SIGKILL");
  await site?.close();
});

/** Processes of this test's tasks: no other process sleeps exactly so long. */
function sleeps(seconds: string): number {
  let count = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (readFileSync(`/proc/${name}/cmdline`, "latin1") === `sleep\0${seconds}\0`) count += 1;
    } catch {
      // ended while we looked
    }
  }
  return count;
}

test(`${TASKS} sleeps on one agent of a busy machine start once each, and a cancel ends them all`, async () => {
  site = new Site();
  await site.startServer();
  const agent = await site.startAgent("b4", "--cpu", "6000");
  for (let at = 0; at < BUSY_PER_CPU * availableParallelism(); at += 1) {
    busy.push(spawn("nice", ["-n", "5", "sh", "-c", "while :; do :; done"], { stdio: "ignore" }));
  }
  const seconds = `20${process.pid}`;
  const spec = {
    command: ["sleep", seconds],
    array: `0-${TASKS - 1}`,
    placement: { node: "b4" },
    resources: { cpu: 1 },
  };
  const { client } = site;
  const { jobs } = await client.submitJobs({ jobs: [{ spec }] });
  const id = jobs[0]?.id ?? "";
  const counts = async () => (await client.getJob({ id })).tasks;
  const states = new Set<string>();
  const look = async (): Promise<void> => {
    states.add((await client.getNode({ name: "b4" })).state);
    await new Promise((resolve) => setTimeout(resolve, 300)); // each look reads all of /proc
  };
  // Started means started: a run reported as running has a process.
  await eventually(
    async () => {
      await look();
      const running = Number((await counts())?.running);
      expect(sleeps(seconds)).toBeGreaterThanOrEqual(running);
      return running === TASKS;
    },
    { what: "all to run", timeoutMs: 240_000 },
  );
  expect(sleeps(seconds)).toBe(TASKS);

  const cancelledMs = Date.now();
  await client.cancelJob({ id });
  await eventually(
    async () => {
      await look();
      return Number((await counts())?.cancelled) === TASKS;
    },
    { what: "all to be cancelled", timeoutMs: 240_000 },
  );
  process.stdout.write(`${TASKS} cancelled in ${(Date.now() - cancelledMs) / 1_000} s\n`);
  expect(sleeps(seconds)).toBe(0);

  expect([...states]).toEqual(["connected"]);
  let seen = 0;
  for (let pageToken: string | undefined; ;) {
    const page = await client.listTasks({ jobId: id, pageSize: 1_000, pageToken });
    for (const task of page.tasks) {
      expect([task.id, task.attempt, task.past.length]).toEqual([task.id, 1, 0]);
      expect(Number(task.startedAtMs)).toBeGreaterThan(0);
      seen += 1;
    }
    pageToken = page.nextPageToken;
    if (pageToken === undefined) break;
  }
  expect(seen).toBe(TASKS);
  expect(agent.output).not.toMatch(/launcher exited|makes no progress/);
}, 500_000);
