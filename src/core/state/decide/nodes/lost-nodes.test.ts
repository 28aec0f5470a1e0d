import { describe, expect, test } from "vitest";

import { aHello, aSpec } from "../../../../testing/builders.ts";
import { checkState, digest, readBack } from "../../../../testing/check/check-state.ts";
import { World } from "../../../../testing/world.ts";
import { limits } from "../../../../limits.ts";
import { jobId, nodeId } from "../../../model/ids.ts";
import type { LossTerms } from "../../../model/node/node.ts";
import type { Task } from "../../../model/job/task.ts";
import type { TickSettings } from "../../command.ts";
import { nextTickMs } from "../tick.ts";

const SETTINGS: TickSettings = {
  nodeLostAfterMs: 60_000,
  finishedTasksMax: 1_000,
  finishedAgeMsMax: limits.finishedAgeMsMax,
};
const HEARD_MS = 5_000;
const NOTICED_MS = 25_000;
const RUN = { jobId: jobId(1), index: 0, attempt: 1 };

/** Indexes follow from the rows, and rows are read back unchanged. */
function expectSound(world: World): void {
  expect(checkState(world.state)).toEqual([]);
  expect(digest(readBack(world.changes))).toEqual(digest(world.state));
}

const theTask = (world: World): Task => world.state.task(RUN) as Task;
const linkOf = (world: World) => world.state.nodes.get(nodeId("edge"))?.node.link;

/** One task runs on the only node, whose agent last reported at 5 s and is found disconnected at 25 s. */
function awayWorld(loss?: LossTerms, runs = true): World {
  const world = new World();
  world.do({ kind: "connect-node", ...aHello("edge", { session: 7, nowMs: 1_000, loss }) });
  const spec = aSpec({ retries: { max: 3 } });
  const submissions = [{ spec, idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: 1_000 });
  world.plan();
  if (runs) world.report("edge", [1, 0, 1]);
  const away = { kind: "disconnect-node", nodeId: nodeId("edge"), session: 7 } as const;
  world.do({ ...away, heardAtMs: HEARD_MS, nowMs: NOTICED_MS });
  return world;
}

function tick(world: World, nowMs: number): void {
  world.nowMs = nowMs;
  world.do({ kind: "tick", nowMs, settings: SETTINGS });
}

const back = (world: World, runs = [RUN], bootId = "boot-1") =>
  world.do({
    kind: "connect-node",
    ...aHello("edge", { session: 8, nowMs: world.nowMs, runs, bootId }),
  });

const set = (
  world: World,
  loss: { onLost?: "requeue" | "keep" | "fail" | null; lostAfterMs?: number | null },
) => world.do({ kind: "set-node-loss", nodeId: nodeId("edge"), loss, nowMs: world.nowMs });

describe("a disconnected node", () => {
  test("is lost a fixed time after its last sign of life, however late the server notices", () => {
    const world = awayWorld();
    expect(linkOf(world)).toEqual({ kind: "disconnected", sinceMs: HEARD_MS });
    expect(nextTickMs(world.state, SETTINGS)).toBe(HEARD_MS + 60_000);
    tick(world, HEARD_MS + 59_999);
    expect(linkOf(world)?.kind).toBe("disconnected");
    tick(world, HEARD_MS + 60_000);
    expect(linkOf(world)).toEqual({ kind: "lost", sinceMs: HEARD_MS });
    expectSound(world);
  });

  test.each<[string, LossTerms | undefined, LossTerms | undefined, number]>([
    ["the server's time", undefined, undefined, 60_000],
    ["its agent's", { lostAfterMs: 9_000 }, undefined, 9_000],
    ["an operator's", { lostAfterMs: 9_000 }, { lostAfterMs: 7_200_000 }, 7_200_000],
  ])("may be disconnected for %s", (_name, loss, given, afterMs) => {
    const world = awayWorld(loss);
    if (given !== undefined) set(world, given);
    expect(nextTickMs(world.state, SETTINGS)).toBe(HEARD_MS + afterMs);
  });

  test.each([
    ["requeue", "waiting", []],
    ["keep", "running", [RUN]],
    ["fail", "failed", []],
  ] as const)("lost with a running task: %s", (onLost, then, wanted) => {
    const world = awayWorld({ onLost });
    tick(world, 1e7);
    expect(linkOf(world)?.kind).toBe("lost");
    expect(theTask(world).state.kind).toBe(then);
    expectSound(world);
    // When it returns, it continues only the tasks that are still assigned to it.
    const { stops } = back(world);
    expect(stops).toEqual(wanted.length === 0 ? [RUN] : []);
    world.report("edge", [1, 0, 1], 0);
    expect(theTask(world)).toMatchObject({
      attempt: 1,
      state: { kind: onLost === "keep" ? "succeeded" : then },
    });
    expectSound(world);
  });

  test("fail: the job fails as lost, though it has retries left", () => {
    const world = awayWorld({ onLost: "fail" });
    tick(world, 1e7);
    const failure = { kind: "lost", message: "node edge was lost" };
    expect(theTask(world)).toMatchObject({
      losses: 1,
      past: [],
      state: { kind: "failed", failure },
    });
  });

  test.each([
    ["requeue", "boot-1", "waiting"],
    ["keep", "boot-1", "waiting"],
    ["fail", "boot-1", "failed"],
    ["fail", "boot-2", "failed"],
  ] as const)("%s: returns (%s) without its run", (onLost, bootId, then) => {
    const world = awayWorld({ onLost });
    back(world, [], bootId);
    expect(theTask(world).state.kind).toBe(then);
    expectSound(world);
  });

  test("keep: a task that had not started is sent again when the node returns", () => {
    const world = awayWorld({ onLost: "keep" }, false);
    tick(world, 1e7);
    expect(back(world, []).starts).toEqual([RUN]);
  });
});

describe("a task that a lost node keeps", () => {
  const cancel = { kind: "cancel-job", jobId: jobId(1), by: "me", reason: "enough" } as const;

  test("is cancelled at once, and stopped when the node returns", () => {
    const world = awayWorld({ onLost: "keep" });
    tick(world, 1e7);
    world.do({ ...cancel, index: undefined, nowMs: 1e7 });
    expect(theTask(world).state).toMatchObject({ kind: "cancelled", reason: "enough" });
    expect(back(world).stops).toEqual([RUN]);
    expectSound(world);
  });

  test("is cancelled when the node is lost, if it was being cancelled before", () => {
    const world = awayWorld({ onLost: "keep" });
    world.do({ ...cancel, index: undefined, nowMs: NOTICED_MS });
    expect(theTask(world).state.kind).toBe("stopping");
    tick(world, 1e7);
    expect(theTask(world).state.kind).toBe("cancelled");
  });

  test.each([
    ["requeue", "waiting"],
    ["fail", "failed"],
    ["keep", "running"],
  ] as const)("follows an operator who sets %s", (onLost, then) => {
    const world = awayWorld({ onLost: "keep" });
    tick(world, 1e7);
    set(world, { onLost });
    expect(theTask(world).state.kind).toBe(then);
    world.restart();
    expect(theTask(world).state.kind).toBe(then);
    expectSound(world);
  });

  test("runs elsewhere when the node is removed, unless it must run once only", () => {
    for (const [onLost, then] of [
      ["keep", "waiting"],
      ["fail", "failed"],
    ] as const) {
      const world = awayWorld({ onLost });
      world.do({ kind: "remove-node", nodeId: nodeId("edge"), nowMs: 1e6 });
      expect(theTask(world).state.kind).toBe(then);
      expectSound(world);
    }
  });
});

test("the setting of an operator survives restarts and hellos, until it is unset", () => {
  const world = awayWorld({ onLost: "fail" });
  const terms = () => {
    const node = world.state.nodes.get(nodeId("edge"))?.node;
    return [node?.loss, node?.setLoss];
  };
  set(world, { onLost: "keep" });
  set(world, { lostAfterMs: 5_000 });
  world.restart();
  world.do({
    kind: "connect-node",
    ...aHello("edge", { session: 9, runs: [RUN], loss: { onLost: "fail" } }),
  });
  expect(terms()).toEqual([{ onLost: "fail" }, { onLost: "keep", lostAfterMs: 5_000 }]);
  const changes = world.changes.length;
  set(world, { onLost: "keep" });
  expect(world.changes.length).toBe(changes); // nothing new, nothing written
  set(world, { onLost: null, lostAfterMs: null });
  expect(terms()).toEqual([{ onLost: "fail" }, undefined]);
  expect(() =>
    world.do({ kind: "set-node-loss", nodeId: nodeId("nobody"), loss: {}, nowMs: 1 }),
  ).toThrow("there is no node nobody");
});
