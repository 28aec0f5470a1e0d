import { describe, expect, test } from "vitest";

import { aHello, aSpec } from "../../../../testing/builders.ts";
import { World } from "../../../../testing/world.ts";
import { limits } from "../../../../limits.ts";
import { jobId, nodeId } from "../../../model/ids.ts";
import type { JobSpecInput } from "../../../model/job/job-spec.ts";
import type { Task } from "../../../model/job/task.ts";

const FAULT = { kind: "node-fault", message: "the disk is full" } as const;

function aWorld(spec: Partial<JobSpecInput> = {}): World {
  const world = new World();
  world.do({ kind: "connect-node", ...aHello("n1", { session: 7, nowMs: world.nowMs }) });
  const submissions = [{ spec: aSpec(spec), idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
  return world;
}

const theTask = (world: World): Task => world.state.task({ jobId: jobId(1), index: 0 }) as Task;

/** The node gets the task and returns it, `times` times; returns the backoff of each time. */
function returnTask(world: World, times: number): number[] {
  return Array.from({ length: times }, () => {
    const [placed] = world.plan();
    world.report("n1", [1, 0, placed?.attempt ?? 0], FAULT);
    const { state } = theTask(world);
    const waitedMs = state.kind === "waiting" ? state.notBeforeMs - world.nowMs : -1;
    world.nowMs += Math.max(0, waitedMs);
    return waitedMs;
  });
}

describe("a node that cannot start a task", () => {
  test("returns it: no retry is used, and the attempt is recorded", () => {
    const world = aWorld({ retries: { max: 0 } });
    expect(returnTask(world, 1)).toEqual([0]);
    const [past] = theTask(world).past;
    expect(theTask(world)).toMatchObject({ failures: 0, losses: 0, returns: 1 });
    expect(past).toMatchObject({ attempt: 1, nodeId: "n1", failure: FAULT });
    const [placed] = world.plan();
    world.report("n1", [1, 0, placed?.attempt ?? 0], 0);
    expect(theTask(world)).toMatchObject({ returns: 1, state: { kind: "succeeded" } });
  });

  test("may do so often: the backoff grows, and in the end the task fails", () => {
    const world = aWorld();
    const { returnsMax, returnsAtOnceMax: atOnce, returnBackoffMs, returnBackoffMsMax } = limits;
    const waits = returnTask(world, returnsMax - 1);
    expect(waits.slice(0, atOnce)).toEqual(Array.from({ length: atOnce }, () => 0));
    expect(waits.slice(atOnce, atOnce + 2)).toEqual([returnBackoffMs, 2 * returnBackoffMs]);
    expect(waits.at(-1)).toBe(returnBackoffMsMax);
    expect(returnTask(world, 1)).toEqual([-1]);
    expect(theTask(world).state).toMatchObject({ kind: "failed", failure: FAULT });
    expect(theTask(world)).toMatchObject({ failures: 0, returns: returnsMax });
  });

  test("does not requeue a task whose job is closed", () => {
    const world = aWorld({ queueDeadlineMs: 10 });
    world.plan();
    world.nowMs += 20;
    const settings = { nodeLostAfterMs: 60_000, finishedTasksMax: 9, finishedAgeMsMax: 1e9 };
    world.do({ kind: "tick", nowMs: world.nowMs, settings });
    world.report("n1", [1, 0, 1], FAULT);
    expect(theTask(world)).toMatchObject({ returns: 1, state: { kind: "failed" } });
    world.restart();
    expect(theTask(world)).toMatchObject({ returns: 1, state: { kind: "failed" } });
  });

  test("reports the reason in printable text", () => {
    const world = aWorld();
    const sickness = `full\u001b[2J${"x".repeat(2_000)}`;
    const health = { nodeId: nodeId("n1"), session: 7, sickness, nowMs: 5 };
    world.do({ kind: "report-health", ...health });
    const reason = world.state.nodes.get(nodeId("n1"))?.node.sickness?.reason ?? "";
    expect(reason.length).toBeLessThanOrEqual(limits.reasonLengthMax);
    expect(reason).not.toContain("\u001b");
    expect(world.plan()).toEqual([]);
  });
});
