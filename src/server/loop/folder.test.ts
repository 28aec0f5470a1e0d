import { expect, test } from "vitest";
import { aHello, aSpec } from "../../testing/builders.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { World } from "../../testing/world.ts";
import { jobId } from "../../core/model/ids.ts";
import { limits } from "../../limits.ts";
import { Folder } from "./folder.ts";

const TEXT = '{"spec":{"name":"a","work":{"kind":"command","argv":["x"]}},"id":1}';

/** Jobs 1 to `count`, queued and not folded. */
function open(count: number) {
  const world = new World();
  const spec = aSpec();
  const submissions = Array.from({ length: count }, () => ({ spec, idempotencyKey: undefined }));
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: 0 });
  const clock = new FakeClock();
  const folder = new Folder(world.state.jobs, clock);
  const isFolded = (id: number): boolean => world.state.jobs.foldedIn(jobId(id)) !== undefined;
  const rows = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => [jobId(from + at), TEXT] as const);
  return { world, clock, folder, isFolded, rows };
}

test("jobs are folded after a pause without commits", () => {
  const { clock, folder, isFolded, rows } = open(3);
  folder.stored({ jobs: rows(1, 2), ended: [] });
  clock.advance(limits.foldAfterMs - 1);
  folder.stored({ jobs: rows(3, 3), ended: [] });
  clock.advance(limits.foldAfterMs - 1);
  expect([1, 2, 3].map(isFolded)).toEqual([false, false, false]);
  clock.advance(1);
  expect([1, 2, 3].map(isFolded)).toEqual([true, true, true]);
  expect(clock.timers).toBe(0);
});

test("jobs that were placed meanwhile are not folded", () => {
  const { world, clock, folder, isFolded, rows } = open(2);
  folder.stored({ jobs: rows(1, 2), ended: [] });
  world.do({ kind: "connect-node", ...aHello("w") });
  world.plan(1);
  clock.advance(limits.foldAfterMs);
  expect([1, 2].map(isFolded)).toEqual([false, true]);
  expect(world.state.task({ jobId: jobId(1), index: 0 })?.state.kind).toBe("assigned");
});

test("beyond the bound the oldest are folded at once", () => {
  const count = limits.unfoldedJobsMax + 2;
  const { clock, folder, isFolded, rows } = open(count);
  folder.stored({ jobs: rows(1, count - 1), ended: [] });
  expect([1, 2, 3, count].map(isFolded)).toEqual([true, false, false, false]);
  folder.stored({ jobs: rows(count, count), ended: [] });
  expect([1, 2, 3, count].map(isFolded)).toEqual([true, true, false, false]);
  clock.advance(limits.foldAfterMs);
  expect([3, count].map(isFolded)).toEqual([true, true]);
});

test("a closed folder folds nothing", () => {
  const { clock, folder, isFolded, rows } = open(1);
  folder.stored({ jobs: rows(1, 1), ended: [] });
  folder.close();
  clock.advance(10 * limits.foldAfterMs);
  expect([isFolded(1), clock.timers]).toEqual([false, 0]);
});

test("ended jobs are folded after a pause without commits, and beyond a bound at once", () => {
  const count = limits.unfoldedEndedJobsMax + 1;
  const { world, clock, folder } = open(count);
  const ids = Array.from({ length: count }, (_, at) => jobId(at + 1));
  const command = {
    kind: "cancel-job",
    index: undefined,
    reason: "r",
    by: "me",
    nowMs: 1,
  } as const;
  for (const id of ids) world.do({ ...command, jobId: id });
  const hasEnd = (id: number): boolean => world.state.jobs.foldedEnd(jobId(id)) !== undefined;
  folder.stored({ jobs: [], ended: ids });
  expect([1, 2, count].map(hasEnd)).toEqual([true, false, false]);
  clock.advance(limits.foldAfterMs);
  expect([2, limits.endedFoldsPerSliceMax + 1, count].map(hasEnd)).toEqual([true, true, true]);
});
