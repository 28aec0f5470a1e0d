import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { allJobs } from "../../core/state/checks/all-jobs.ts";
import { aHello, aSpec } from "../../testing/builders.ts";
import { aPlane } from "../../testing/plane.ts";
import { World } from "../../testing/world.ts";
import { jobId } from "../../core/model/ids.ts";
import type { JobSpecInput } from "../../core/model/job/job-spec.ts";
import { limits } from "../../limits.ts";
import { readJobOrder } from "../../core/state/jobs/job-order.ts";
import { JobList } from "./list-jobs.ts";
import { TaskList } from "./list-tasks.ts";
import type { JobFilter } from "../operations/operations.ts";

const JOBS = 20_000;
/** The blocks of 4,096 ids that hold these jobs. */
const BLOCKS = 5;

function submit(world: World, specs: readonly Partial<JobSpecInput>[], by = "me"): void {
  const submissions = specs.map((spec) => ({ spec: aSpec(spec), idempotencyKey: undefined }));
  world.do({ kind: "submit-jobs", submissions, by, nowMs: world.nowMs });
}

/** Many folded, pending jobs. */
function manyQueued(): World {
  const world = new World();
  const specs = Array.from({ length: JOBS }, (_, at) => ({
    name: `job-${at}`,
    labels: { part: String(at % 7) },
  }));
  submit(world, specs);
  world.flush();
  return world;
}

function listAll(world: World, filter: JobFilter, size: number = limits.pageSizeMax) {
  return read(world, { filter, size, below: undefined });
}

function read(world: World, options: ConstructorParameters<typeof JobList>[0]) {
  const list = new JobList<number>(options);
  let slices = 1;
  while (!list.slice(world.state, ({ job }) => job.id)) slices++;
  return { ids: list.found, slices, looks: list.looks, next: list.next, passed: list.passedOver };
}

describe("a list over many queued jobs", () => {
  const world = manyQueued();
  const nothing: readonly JobFilter[] = [
    { name: "no-such-job" },
    { labels: { owner: "nobody" } },
    { labels: { part: "8" } },
    { group: "no-such-group" },
    { submittedBy: "nobody" },
    { states: ["running", "failed"] },
    { states: ["succeeded"], name: "job-1" },
  ];
  for (const filter of nothing) {
    test(`skips blocks in which no job matches ${JSON.stringify(filter)}`, () => {
      const { unfoldings } = world.state.jobs;
      const { ids, looks, next, passed } = listAll(world, filter);
      expect({ ids, next }).toEqual({ ids: [], next: undefined });
      expect(passed).toBeGreaterThanOrEqual(BLOCKS - 1); // a Bloom filter may be wrong
      expect(looks).toBeLessThanOrEqual(BLOCKS + 3 * 4_096);
      expect(world.state.jobs.unfoldings).toBe(unfoldings);
    });
  }

  test("reads one job to find one by its name", () => {
    const { unfoldings } = world.state.jobs;
    const { ids, passed } = listAll(world, { name: "job-77" });
    expect(ids).toEqual([78]);
    expect(passed).toBe(BLOCKS - 1);
    expect(world.state.jobs.unfoldings).toBe(unfoldings + 1);
  });

  test("reads jobs in slices where no index helps", () => {
    const { unfoldings } = world.state.jobs;
    const { ids, slices } = listAll(world, { labels: { part: "3" }, node: "none" });
    expect(ids).toEqual([]);
    expect(slices).toBeGreaterThanOrEqual(JOBS / limits.listSliceLooks);
    expect(world.state.jobs.unfoldings).toBe(unfoldings);
  });
});

test("finds a name that a job depends on by its hash, however old its job is", () => {
  const world = manyQueued();
  const { unfoldings } = world.state.jobs;
  submit(world, [{ name: "late", dependsOn: [{ kind: "afterok", on: ["job-0"] }] }]);
  expect(world.state.jobs.get(jobId(JOBS + 1))?.job.waitsFor).toMatchObject([
    { of: [{ jobId: 1 }] },
  ]);
  expect(world.state.jobs.unfoldings).toBeLessThan(unfoldings + 10);
});

const spec = fc.record({
  name: fc.constantFrom("a", "b"),
  group: fc.constantFrom("g", "h"),
  labels: fc.constantFrom({}, { k: "v" }, { k: "w", name: "a" }),
  array: fc.constantFrom(undefined, undefined, "0-2"),
});
const filters = fc.record({
  states: fc.constantFrom(undefined, ["pending" as const], ["succeeded" as const]),
  name: fc.constantFrom(undefined, undefined, "a"),
  group: fc.constantFrom(undefined, undefined, "h"),
  labels: fc.constantFrom(undefined, undefined, { k: "v" }, { name: "a" }),
  node: fc.constantFrom(undefined, undefined, "w1", "w9"),
  cluster: fc.constantFrom(undefined, undefined, "default", "other"),
  submittedBy: fc.constantFrom(undefined, undefined, "me", "you"),
});

test("a list finds the same jobs as a scan of every job, folded or not", () => {
  fc.assert(
    fc.property(fc.array(spec, { maxLength: 12 }), filters, fc.nat(20), (specs, filter, placed) => {
      const world = new World();
      world.do({ kind: "connect-node", ...aHello("w1") });
      specs.forEach((one, at) => submit(world, [one], at % 2 === 0 ? "me" : "you"));
      for (const { jobId: job, index, attempt } of world.plan(placed)) {
        if (job % 3 > 0) world.report("w1", [job, index, attempt], 0);
      }
      if (placed % 2 === 0) world.flush();
      const cluster = [...world.state.nodes.values()][0]?.node.cluster;
      const wanted = [...allJobs(world.state)].filter(({ job, progress, taskRowCount }) => {
        const isThere = taskRowCount > 0;
        return (
          (filter.states === undefined || filter.states.some((one) => one === progress.state)) &&
          (filter.name === undefined || job.spec.name === filter.name) &&
          (filter.group === undefined || job.spec.group === filter.group) &&
          Object.entries(filter.labels ?? {}).every(
            ([key, value]) => job.spec.labels[key] === value,
          ) &&
          (filter.node === undefined || (filter.node === "w1" && isThere)) &&
          (filter.cluster === undefined || (filter.cluster === cluster && isThere)) &&
          (filter.submittedBy === undefined || job.submittedBy === filter.submittedBy)
        );
      });
      const ids = wanted.map(({ job }) => job.id).reverse();
      expect(listAll(world, filter).ids).toEqual(ids);
    }),
    { numRuns: 300 },
  );
});

describe("a list of the tasks of an array", () => {
  const world = new World();
  submit(world, [{ array: "0-99999" }]);
  world.do({ kind: "connect-node", ...aHello("w", { capacity: { cpu: 10_000_000 } }) });
  for (const { jobId: job, index, attempt } of world.plan(9_000)) {
    world.report("w", [job, index, attempt], index === 5_000 ? 1 : 0);
  }
  const record = world.state.jobs.get(jobId(1)) ?? expect.fail("it is there");
  const list = (states: readonly ("failed" | "running" | "pending")[], size: number) => {
    const tasks = new TaskList<number>({ states, size, from: 0 });
    while (!tasks.slice(record, (index) => index));
    return tasks;
  };

  test("skips blocks in which no task is in a wanted state", () => {
    const { found, looks } = list(["failed"], 10);
    expect(found).toEqual([5_000]);
    expect(looks).toBeLessThan(2 * 4_096);
    expect(list(["running"], 10)).toMatchObject({ found: [], next: undefined });
    expect(list(["running"], 10).looks).toBeLessThan(10);
  });

  test("finds tasks without a row", () => {
    expect(list(["pending"], 3).found).toEqual([9_000, 9_001, 9_002]);
  });
});

describe("lists read in slices", () => {
  test("let commands run between slices, and are as new as their first slice", async () => {
    const { plane } = await aPlane();
    const jobs = Array.from({ length: JOBS }, () => ({ spec: { command: ["x"] } }));
    await plane.operations.submitJobs(jobs, {});
    const { revision: before } = await plane.operations.stats();
    const order: string[] = [];
    const filter = { submittedBy: "local", node: "none" };
    const list = plane.operations.listJobs(filter, {}).then((page) => {
      order.push("list");
      return page;
    });
    await plane.operations.submitJobs([{ spec: { command: ["y"] } }], {});
    order.push("submit");
    const page = await list;
    expect(order).toEqual(["submit", "list"]);
    expect(page).toMatchObject({ jobs: [], revision: before });
    await plane.close();
  });

  test("are rejected beyond a bound", async () => {
    const { plane } = await aPlane();
    const jobs = Array.from({ length: 5_000 }, () => ({ spec: { command: ["x"] } }));
    await plane.operations.submitJobs(jobs, {});
    const filter = { submittedBy: "local", node: "none" };
    const lists = Array.from({ length: limits.listsAtOnceMax + 1 }, () =>
      plane.operations.listJobs(filter, {}),
    );
    const results = await Promise.allSettled(lists);
    const refused = results.filter(({ status }) => status === "rejected");
    expect(refused).toMatchObject([{ reason: { code: "exhausted" } }]);
    await plane.close();
  });
});

describe("a list by time of submission", () => {
  const world = new World();
  const half = Array.from({ length: JOBS / 2 }, () => ({}));
  submit(world, half);
  world.flush();
  const laterMs = world.nowMs + 60_000;
  world.nowMs = laterMs;
  submit(world, half);
  world.flush();
  const count = (filter: JobFilter): number => {
    let [found, below]: [number, number | undefined] = [0, undefined];
    do {
      const page = read(world, { filter, size: limits.pageSizeMax, below });
      found += page.ids.length;
      below = page.next;
    } while (below !== undefined);
    return found;
  };

  test("has the jobs submitted since then, or before", () => {
    expect(count({ submittedFromMs: laterMs })).toBe(JOBS / 2);
    expect(count({ submittedBeforeMs: laterMs })).toBe(JOBS / 2);
    expect(count({ submittedFromMs: laterMs, submittedBeforeMs: laterMs })).toBe(0);
    expect(count({ submittedFromMs: laterMs - 60_000, submittedBeforeMs: laterMs + 1 })).toBe(JOBS);
  });

  test("passes over blocks of other times", () => {
    const { ids, passed, looks } = listAll(world, { submittedFromMs: laterMs + 1 });
    expect({ ids, passed }).toEqual({ ids: [], passed: BLOCKS });
    expect(looks).toBe(BLOCKS);
    expect(listAll(world, { submittedBeforeMs: laterMs }).passed).toBeGreaterThanOrEqual(2);
  });
});

describe("a list in an order", () => {
  const world = new World();
  const priorities = [5, 1, 5, 3, 9, 1];
  submit(
    world,
    priorities.map((priority, at) => ({ priority, name: `job-${at}` })),
  );
  world.flush();
  const sorted = (sort: string, size = 10) =>
    read(world, { filter: {}, size, below: undefined, order: readJobOrder(sort) }).ids;

  test("has the first jobs in it, and of equal ones the newer first", () => {
    expect(sorted("priority:desc")).toEqual([5, 3, 1, 4, 6, 2]);
    expect(sorted("priority")).toEqual([6, 2, 4, 3, 1, 5]);
    expect(sorted("priority:desc", 2)).toEqual([5, 3]);
    expect(sorted("name:desc", 3)).toEqual([6, 5, 4]);
  });

  test("has jobs without a value last, in both directions", () => {
    expect(sorted("ended")).toEqual([6, 5, 4, 3, 2, 1]);
    expect(sorted("took:desc")).toEqual([6, 5, 4, 3, 2, 1]);
  });

  test("rejects an unknown order", () => {
    expect(() => readJobOrder("size")).toThrow(/sort: .*submitted, started, ended, took/);
  });

  test("scans all jobs that it may, in slices, and returns no more than requested", () => {
    const many = manyQueued();
    const page = { filter: {}, size: 3, below: undefined, order: readJobOrder("name:desc") };
    const { ids, slices, next } = read(many, page);
    expect(slices).toBeGreaterThan(10);
    expect(ids).toHaveLength(3);
    expect(next).toBeGreaterThan(0); // More than one page is needed for them.
  });
});
