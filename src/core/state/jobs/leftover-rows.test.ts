import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../../testing/builders.ts";
import { checkState, digest, readBack } from "../../../testing/check/check-state.ts";
import { World } from "../../../testing/world.ts";
import { limits } from "../../../limits.ts";
import { jobId } from "../../model/ids.ts";
import type { Change } from "../change.ts";
import { TABLES } from "../tables/tables.ts";
import { nextTickMs } from "../decide/tick.ts";

const SETTINGS = { nodeLostAfterMs: 1e9, finishedTasksMax: 0, finishedAgeMsMax: 0 };

/** An array of 10 ended tasks, one job that ended after it, and one pending job. */
function aWorld(tasks = 10): World {
  const world = new World();
  world.do({ kind: "connect-node", ...aHello("w", { capacity: { cpu: 1e9 } }) });
  submit(world, { name: "large", array: `0-${tasks - 1}` });
  submit(world, { name: "small" });
  for (const { jobId: id, index, attempt } of world.plan()) {
    world.nowMs++;
    world.report("w", [id, index, attempt], 0);
  }
  submit(world, { name: "waits", placement: { node: "nobody" } });
  world.nowMs += limits.finishedAgeMsMin;
  return world;
}

function submit(world: World, spec: Parameters<typeof aSpec>[0]): void {
  const submissions = [{ spec: aSpec(spec), idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
}

/** The number of writes of the changes since `from`. */
function writesSince(world: World, from: number): number {
  let writes = 0;
  for (const change of world.changes.slice(from)) TABLES.encode(change, () => writes++);
  return writes;
}

/** Keys of the rows of jobs and tasks that remain after the changes. */
function rowsOf(changes: readonly Change[]): string[] {
  const rows = new Set<string>();
  for (const change of changes) {
    TABLES.encode(
      change,
      (key, value) => void (value === undefined ? rows.delete(key) : rows.add(key)),
    );
  }
  return [...rows].filter((key) => /^(?:job|task|leftover)\//.test(key)).sort();
}

describe("an array with more rows than one batch may have", () => {
  const settings = { ...SETTINGS, removedRowsMax: 4 };

  test("is removed at the first tick, and its rows are deleted in bounded batches", () => {
    const world = aWorld();
    let from = world.changes.length;
    world.do({ kind: "tick", nowMs: world.nowMs, settings });
    expect(world.state.jobs.has(jobId(1))).toBe(false);
    expect(writesSince(world, from)).toBeLessThanOrEqual(4);
    for (let ticks = 0; nextTickMs(world.state, settings) === 0; ticks++) {
      expect(ticks).toBeLessThan(4);
      from = world.changes.length;
      world.do({ kind: "tick", nowMs: world.nowMs, settings });
      expect(writesSince(world, from)).toBeLessThanOrEqual(8); // together with the small job that follows
      expect(checkState(world.state)).toEqual([]);
    }
    expect(rowsOf(world.changes)).toEqual(["job/0000000003"]);
  });

  test("is not visible after a restart, and the restarted server continues deleting", () => {
    for (let restartAfter = 1; restartAfter <= 5; restartAfter++) {
      for (const isFolded of [false, true]) {
        const world = aWorld();
        if (isFolded) world.flush();
        for (let ticks = 1; ticks <= 5; ticks++) {
          world.do({ kind: "tick", nowMs: world.nowMs, settings });
          const back = readBack(world.changes);
          expect(digest(back)).toEqual(digest(world.state));
          expect(back.jobs.has(jobId(1))).toBe(false);
          expect(back.totals).toEqual(world.state.totals);
          if (ticks === restartAfter) world.restart();
        }
        expect(checkState(world.state)).toEqual([]);
        expect(rowsOf(world.changes)).toEqual(["job/0000000003"]);
        expect(nextTickMs(world.state, settings)).toBeUndefined();
      }
    }
  });

  test("is removed lazily: a tick generates only the indexes that it deletes", () => {
    const world = aWorld();
    let taken = 0;
    const indexes = function* (): Generator<number> {
      for (let index = 0; index < 1_000_000; index++) {
        taken++;
        yield index;
      }
    };
    world.state.leftovers.add(jobId(9), indexes());
    world.do({ kind: "tick", nowMs: world.nowMs, settings });
    expect(taken).toBe(5);
  });
});

test("smaller arrays are deleted at once", () => {
  const world = aWorld();
  world.do({ kind: "tick", nowMs: world.nowMs, settings: SETTINGS });
  expect(rowsOf(world.changes)).toEqual(["job/0000000003"]);
});
