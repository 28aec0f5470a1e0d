import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../../testing/builders.ts";
import { checkState, digest, readBack } from "../../../testing/check/check-state.ts";
import { World } from "../../../testing/world.ts";
import { limits } from "../../../limits.ts";
import { parseIndexRanges } from "../../model/job/array-range.ts";
import { clusterId, jobId, nodeId, revision } from "../../model/ids.ts";
import type { JobSpecInput } from "../../model/job/job-spec.ts";
import type { Task } from "../../model/job/task.ts";
import { ArrayTasks } from "./array-tasks.ts";
import { nextTickMs } from "../decide/tick.ts";

/** Submits jobs, runs every task on one node and reports how it ended. */
function worldWithEnded(specs: readonly Partial<JobSpecInput>[], code = 0): World {
  const world = new World();
  world.do({ kind: "connect-node", ...aHello("w", { capacity: { cpu: 1e9 } }) });
  const submissions = specs.map((spec) => ({ spec: aSpec(spec), idempotencyKey: undefined }));
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
  for (const task of world.plan()) {
    world.nowMs++;
    world.report("w", [task.jobId, task.index, task.attempt], code);
  }
  return world;
}

const singles = (count: number): Partial<JobSpecInput>[] =>
  Array.from({ length: count }, (_, at) => ({ name: `job-${at}` }));

describe("ended jobs", () => {
  test("are folded once they are durable, and read the same", () => {
    const specs = [...singles(3), { array: "0-4" }, { array: "1-9:2", retries: { max: 1 } }];
    for (const code of [0, 3]) {
      const world = worldWithEnded(specs, code);
      const before = digest(world.state);
      world.flush();
      expect(world.state.jobs.getOpen(jobId(1))).toBeUndefined();
      expect(world.state.jobs.foldedEnd(jobId(1))?.state).toBe(code === 0 ? "succeeded" : "failed");
      expect(digest(world.state)).toEqual(before);
      expect(checkState(world.state)).toEqual([]);
    }
  });

  test("are not decoded when rows are read back", () => {
    const world = worldWithEnded(singles(50));
    const back = readBack(world.changes);
    // A lane opens the first job that is put into it, before the rows of tasks come.
    expect(back.jobs.unfoldings).toBeLessThanOrEqual(1);
    expect([...back.jobs.openRecords()]).toEqual([]);
    expect(digest(back)).toEqual(digest(world.state));
    expect(checkState(back)).toEqual([]);
    // Their lane still lists them; the search for the next placement skips them without decoding.
    const { unfoldings } = back.jobs;
    world.state = back;
    expect(world.plan()).toEqual([]);
    expect(back.jobs.unfoldings).toBe(unfoldings);
  });

  test("that were cancelled before they started are folded when they are read back", () => {
    const world = new World();
    const submissions = singles(3).map((spec) => ({
      spec: aSpec(spec),
      idempotencyKey: undefined,
    }));
    world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: 5 });
    const command = { kind: "cancel-job", index: undefined, reason: "r", by: "me" } as const;
    world.do({ ...command, jobId: jobId(2), nowMs: 9 });
    const back = readBack(world.changes);
    expect(back.jobs.foldedEnd(jobId(2))).toMatchObject({ state: "cancelled" });
    expect(back.jobs.endOf(jobId(2))).toBe(9);
    expect(digest(back)).toEqual(digest(world.state));
  });

  test("are removed in the order they ended, without making records of the others", () => {
    const world = worldWithEnded(singles(5));
    world.flush();
    world.nowMs += limits.finishedAgeMsMin;
    const settings = { nodeLostAfterMs: 1e9, finishedTasksMax: 2, finishedAgeMsMax: 1e9 };
    world.do({ kind: "tick", nowMs: world.nowMs, settings });
    expect([...world.state.jobOrder].filter((id) => world.state.jobs.has(id))).toEqual([4, 5]);
    expect([...world.state.jobs.openRecords()]).toEqual([]);
    expect(checkState(world.state)).toEqual([]);
  });

  test("that are large arrays are removed in several ticks", () => {
    const tasks = limits.changesPerBatchMax / 2;
    const world = worldWithEnded([1, 2, 3].map(() => ({ array: `0-${tasks - 1}` })));
    world.flush();
    world.nowMs += limits.finishedAgeMsMax;
    const settings = { nodeLostAfterMs: 1e9, finishedTasksMax: 0, finishedAgeMsMax: 0 };
    const removed = (): number => [1, 2, 3].filter((id) => !world.state.jobs.has(jobId(id))).length;
    world.do({ kind: "tick", nowMs: world.nowMs, settings });
    expect(removed()).toBe(2);
    expect(nextTickMs(world.state, settings)).toBeLessThanOrEqual(world.nowMs);
    world.do({ kind: "tick", nowMs: world.nowMs, settings });
    expect(removed()).toBe(3);
  });

  test("of a large array use columns: no row is an object of its own", () => {
    const count = limits.foldedTaskRowsMax + 1;
    const world = worldWithEnded([{ array: `0-${count - 1}` }]);
    world.flush();
    const record = world.state.jobs.getOpen(jobId(1));
    expect([...(record?.openTaskRows() ?? [])]).toEqual([]);
    expect([...(record?.detailedTaskRows() ?? [])]).toEqual([]);
    expect(record?.taskRowCount).toBe(count);
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
  });
});

const RANGES = parseIndexRanges("0-9,20-40:4,100", "array", { tasksMax: 100, indexMax: 1_000 });
const INDEXES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 24, 28, 32, 36, 40, 100];

const places = fc.constantFrom(nodeId("a"), nodeId("b"), undefined);
const times = { startedAtMs: fc.option(fc.nat(), { nil: undefined }), endedAtMs: fc.nat() };
const failure = fc.oneof(
  fc.record({ kind: fc.constant("exited" as const), exitCode: fc.nat(255) }),
  fc.record({ kind: fc.constant("lost" as const), message: fc.string() }),
);
const state: fc.Arbitrary<Task["state"]> = fc.oneof(
  fc.record({
    kind: fc.constant("succeeded" as const),
    nodeId: places,
    startedAtMs: fc.nat(),
    endedAtMs: fc.nat(),
  }),
  fc.record({ kind: fc.constant("failed" as const), nodeId: places, ...times, failure }),
  fc.record({
    kind: fc.constant("cancelled" as const),
    nodeId: fc.constant(undefined),
    cluster: fc.constantFrom(clusterId("x"), clusterId("y")),
    ...times,
    reason: fc.string(),
  }),
  fc.record({ kind: fc.constant("waiting" as const), notBeforeMs: fc.nat() }),
  fc.record({
    kind: fc.constant("offered" as const),
    cluster: fc.constantFrom(clusterId("x"), clusterId("y")),
    offeredAtMs: fc.nat(),
  }),
);
const attempt = fc.record({ attempt: fc.nat(5), nodeId: places, ...times, failure });
const task: fc.Arbitrary<Task> = fc
  .record({
    jobId: fc.constant(jobId(7)),
    index: fc.constantFrom(...INDEXES),
    attempt: fc.nat(3),
    state,
    failures: fc.nat(2),
    losses: fc.nat(2),
    past: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(attempt, { maxLength: 2 })),
    takes: fc.option(fc.record({ cpu: fc.nat() }), { nil: undefined }),
    told: fc.option(fc.record({ stdout: fc.string(), stderr: fc.string() }), { nil: undefined }),
  })
  .map(({ takes, told, ...rest }) => ({ ...rest, ...(takes && { takes }), ...(told && { told }) }));

test("the rows of an array equal those of a map, whatever their tasks do", () => {
  fc.assert(
    fc.property(fc.array(task, { maxLength: 40 }), (tasks) => {
      const rows = new ArrayTasks(jobId(7), RANGES);
      const wanted = new Map<number, Task>();
      const revisions = new Map<number, number>();
      let last = 2 ** 40;
      for (const one of tasks) {
        const before = wanted.get(one.index);
        if (before !== undefined && "endedAtMs" in before.state) continue; // it is final
        rows.set(one, revision(++last));
        wanted.set(one.index, one);
        revisions.set(one.index, last);
      }
      expect(rows.size).toBe(wanted.size);
      for (let index = 0; index <= 101; index++) {
        expect(rows.get(index)).toEqual(wanted.get(index));
        expect(rows.revisionOf(index)).toBe(revisions.get(index));
      }
      const byIndex = (a: Task, b: Task): number => a.index - b.index;
      expect([...rows.rows()].sort(byIndex)).toEqual([...wanted.values()].sort(byIndex));
      expect([...rows.indexes()].sort((a, b) => a - b)).toEqual(
        [...wanted.keys()].sort((a, b) => a - b),
      );
      const offered = [...wanted.values()].flatMap(({ state: at }) =>
        at.kind === "offered" ? [at.cluster] : [],
      );
      for (const cluster of [clusterId("x"), clusterId("y")]) {
        expect(rows.isOfferedTo(cluster)).toBe(offered.includes(cluster));
      }
    }),
  );
});
