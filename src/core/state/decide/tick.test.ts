import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../../testing/builders.ts";
import { checkState } from "../../../testing/check/check-state.ts";
import { World } from "../../../testing/world.ts";
import { limits } from "../../../limits.ts";
import { jobId } from "../../model/ids.ts";
import type { NodeRecord } from "../../scheduler/nodes/node-record.ts";
import { decide } from "../decide.ts";
import { nextTickMs } from "./tick.ts";

const settings = { nodeLostAfterMs: 1_000, finishedAgeMsMax: 1e9, finishedTasksMax: 1e9 };

function submit(world: World, count = 1): void {
  const spec = aSpec({ queueDeadlineMs: 500 });
  const submissions = Array.from({ length: count }, () => ({ spec, idempotencyKey: undefined }));
  world.do({ kind: "submit-jobs", submissions, by: "t", nowMs: world.nowMs });
}

const expired = (world: World): number => world.state.totals.jobs.expired;

describe("tick", () => {
  test("reads deadlines and changes nothing: only applied changes take effect", () => {
    const world = new World();
    submit(world);
    const nowMs = world.nowMs + 500;
    const first = decide(world.state, { kind: "tick", nowMs, settings });
    expect(decide(world.state, { kind: "tick", nowMs, settings })).toEqual(first);
    expect(nextTickMs(world.state, settings)).toBe(nowMs);
    world.do({ kind: "tick", nowMs, settings });
    expect(expired(world)).toBe(1);
    expect(world.state.deadlines.size).toBe(0);
    expect(nextTickMs(world.state, settings)).toBeGreaterThan(nowMs);
  });

  test("a tick that throws after it has read a deadline does not lose it", () => {
    const world = new World();
    submit(world);
    const nowMs = world.nowMs + 500;
    const broken = {} as NodeRecord; // without a row
    world.state.disconnected.add(broken);
    expect(() => decide(world.state, { kind: "tick", nowMs, settings })).toThrow(TypeError);
    world.state.disconnected.delete(broken);
    world.do({ kind: "tick", nowMs, settings });
    expect(expired(world)).toBe(1);
  });

  test("jobs that end, are cancelled or are read back ended have no deadline", () => {
    const world = new World();
    submit(world, 3);
    world.do({ kind: "connect-node", ...aHello("w1", { capacity: { cpu: 1_000 } }) });
    world.plan();
    world.report("w1", [1, 0, 1]);
    world.report("w1", [1, 0, 1], 0);
    const cancel = { jobId: jobId(2), index: undefined, reason: "r", by: "me", nowMs: 9 };
    world.do({ kind: "cancel-job", ...cancel });
    expect([...world.state.deadlines.due(Infinity)].map(({ id }) => id)).toEqual([3]);
    expect(checkState(world.state)).toEqual([]);
    world.restart();
    expect([...world.state.deadlines.due(Infinity)].map(({ id }) => id)).toEqual([3]);
    expect(checkState(world.state)).toEqual([]);
  });

  test("more jobs than one batch holds expire in several ticks, of which the next is due at once", () => {
    const world = new World();
    submit(world, limits.changesPerBatchMax + 1);
    const nowMs = world.nowMs + 500;
    world.do({ kind: "tick", nowMs, settings });
    expect(expired(world)).toBe(limits.changesPerBatchMax);
    expect(nextTickMs(world.state, settings)).toBeLessThanOrEqual(nowMs);
    world.do({ kind: "tick", nowMs, settings });
    expect(expired(world)).toBe(limits.changesPerBatchMax + 1);
  });
});
