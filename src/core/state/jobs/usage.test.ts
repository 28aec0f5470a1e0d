import { expect, test } from "vitest";
import { aUsage } from "../../../testing/a-usage.ts";
import { aHello, aSpec } from "../../../testing/builders.ts";
import { checkState, digest, readBack } from "../../../testing/check/check-state.ts";
import { World } from "../../../testing/world.ts";
import { limits } from "../../../limits.ts";
import { groupId, jobId } from "../../model/ids.ts";
import type { JobSpecInput } from "../../model/job/job-spec.ts";
import { addUsage } from "../../model/job/usage.ts";
import type { Usage } from "../../model/job/usage.ts";
import { encodeTask } from "./task-codec.ts";
import { fitsColumns, UsageColumns } from "./columns/usage-columns.ts";

function worldWith(spec: Partial<JobSpecInput>): World {
  const world = new World();
  world.do({ kind: "connect-node", ...aHello("w", { capacity: { cpu: 1e9 } }) });
  const submissions = [{ spec: aSpec(spec), idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
  return world;
}

/** Runs placed tasks until none is left, and returns the reported usages. */
function runAll(world: World, code: number): (Usage | undefined)[] {
  const reported: (Usage | undefined)[] = [];
  for (;;) {
    const placed = world.plan();
    if (placed.length === 0) return reported;
    for (const { jobId: job, index, attempt } of placed) {
      world.report("w", [job, index, attempt], code);
      reported.push(aUsage(job, index, attempt));
    }
    world.nowMs += limits.durationMsMax;
    world.state.queue.release(world.nowMs);
  }
}

test("a job counts every attempt, also those that are no longer listed", () => {
  const max = limits.pastAttemptsKept + 3;
  const world = worldWith({ retries: { max } });
  const reported = runAll(world, 1);
  expect(reported.length).toBe(max + 1);
  const record = world.state.jobs.get(jobId(1));
  expect(record?.task(0)?.past.length).toBe(limits.pastAttemptsKept);
  expect(record?.task(0)?.past.at(-1)?.usage).toEqual(reported.at(-2));
  expect(record?.task(0)?.usage).toEqual(reported.at(-1));
  expect(record?.progress.usage).toEqual(reported.reduce(addUsage, undefined));
  expect(checkState(world.state)).toEqual([]);
  expect(digest(readBack(world.changes))).toEqual(digest(world.state));
});

test("a group counts its jobs until they are removed", () => {
  const world = worldWith({ group: "g", array: "0-9" });
  const cpuUs = runAll(world, 0).reduce((sum, one) => sum + (one?.cpuUs ?? 0), 0);
  const group = () => world.state.groups.get(groupId("g"))?.usage;
  expect(group()?.cpuUs).toBe(cpuUs);
  expect(world.state.totals.usage.cpuUs).toBe(cpuUs);
  world.flush();
  world.nowMs += limits.finishedAgeMsMin;
  const settings = { nodeLostAfterMs: 1e9, finishedTasksMax: 0, finishedAgeMsMax: 1e9 };
  world.do({ kind: "tick", nowMs: world.nowMs, settings });
  expect(world.state.jobs.has(jobId(1))).toBe(false);
  expect(group()).toEqual({ cpuUs: 0, wallUs: 0, majorFaults: 0 });
  expect(checkState(world.state)).toEqual([]);
});

test("the row of a task without usage is as long as before, and one with usage little longer", () => {
  const world = worldWith({});
  runAll(world, 0);
  const { usage: _, ...task } = world.state.task({ jobId: jobId(1), index: 0 })!;
  const usage = { cpuUs: 812, wallUs: 1_034, maxRssKib: 1_880, majorFaults: 0 };
  expect(encodeTask(task)).not.toContain("usage");
  expect(encodeTask({ ...task, usage })).toContain('"usage":[812,1034,1880,0]');
});

test("columns distinguish 0 from unknown", () => {
  const columns = new UsageColumns(3);
  columns.put(0, { cpuUs: 0, majorFaults: 0 });
  columns.put(1, { wallUs: 7, maxRssKib: 0xffff_fffe });
  expect(columns.get(0)).toEqual({ cpuUs: 0, majorFaults: 0 });
  expect(columns.get(1)).toEqual({ wallUs: 7, maxRssKib: 0xffff_fffe });
  expect(columns.get(2)).toBeUndefined();
  columns.remove(0);
  expect(columns.get(0)).toBeUndefined();
});

const MS_MAX = 2 ** 31 - 2;

test.each<[name: string, us: number, fits: boolean]>([
  ["nothing", 0, true],
  ["the longest in microseconds", 2 ** 31 - 1, true],
  ["longer, in whole milliseconds", Math.ceil(2 ** 31 / 1_000) * 1_000, true],
  ["longer, between two milliseconds", 2 ** 31, false],
  ["the longest in milliseconds", MS_MAX * 1_000, true],
  ["longer than that", (MS_MAX + 1) * 1_000, false],
  ["the longest that an agent may report", limits.usageMax, false],
])("a time is exact or is not stored in the columns: %s", (_name, us, fits) => {
  const usage = { cpuUs: us, wallUs: us };
  expect(fitsColumns(usage)).toBe(fits);
  if (!fits) return;
  const columns = new UsageColumns(1);
  columns.put(0, usage);
  expect(columns.get(0)).toEqual(usage);
});
