import { expect, test } from "vitest";

import { aHello, aSpec } from "../../../../testing/builders.ts";
import { checkState } from "../../../../testing/check/check-state.ts";
import { World } from "../../../../testing/world.ts";
import { jobId, nodeId } from "../../../model/ids.ts";
import type { TaskState } from "../../../model/job/task.ts";

const JOB = jobId(1);
const stateOfTask = (world: World): TaskState | undefined =>
  world.state.task({ jobId: JOB, index: 0 })?.state;

/** A task that is being cancelled before its start was reported. */
function aWorldThatCancels(): World {
  const world = new World();
  world.do({ kind: "connect-node", ...aHello("w1") });
  const submissions = [{ spec: aSpec(), idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
  world.plan();
  world.nowMs += 1_000;
  world.do({
    kind: "cancel-job",
    jobId: JOB,
    index: undefined,
    by: "me",
    reason: "enough",
    nowMs: world.nowMs,
  });
  return world;
}

test("a start that is reported after the cancel is the start of the cancelled task", () => {
  const world = aWorldThatCancels();
  world.nowMs += 1_000;
  world.report("w1", [1, 0, 1]);
  const startedAtMs = world.nowMs;
  expect(stateOfTask(world)).toMatchObject({ kind: "stopping", startedAtMs });
  checkState(world.state);
  world.nowMs += 1_000;
  world.report("w1", [1, 0, 1]); // once more: the first report counts
  world.report("w1", [1, 0, 1], { kind: "stopped" });
  expect(stateOfTask(world)).toMatchObject({ kind: "cancelled", startedAtMs });
  checkState(world.state);
});

test("a task that is cancelled before it began has no start", () => {
  const world = aWorldThatCancels();
  world.report("w1", [1, 0, 1], { kind: "stopped" });
  expect(stateOfTask(world)).toMatchObject({ kind: "cancelled", startedAtMs: undefined });
  checkState(world.state);
});

test.each([
  ["forward", 3_600_000],
  ["back", -3_600_000],
])("a clock that is set %s during a run does not change its duration", (_, byMs) => {
  const world = new World();
  world.do({ kind: "connect-node", ...aHello("w1") });
  const submissions = [{ spec: aSpec(), idempotencyKey: undefined }];
  world.nowMs = 10_000_000;
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
  world.plan();
  world.report("w1", [1, 0, 1]);
  const startedAtMs = world.nowMs;
  world.nowMs += byMs;
  const link = world.state.nodes.get(nodeId("w1"))?.node.link;
  const event = {
    kind: "ended",
    run: { jobId: JOB, index: 0, attempt: 1 },
    startedAtMs,
    endedAtMs: startedAtMs + 1_500, // as agents report it
    outcome: { kind: "succeeded" },
    usage: { wallUs: 1_500_000 },
  } as const;
  world.do({
    kind: "report-runs",
    nodeId: nodeId("w1"),
    session: link?.kind === "connected" ? link.session : 0,
    events: [event],
    nowMs: world.nowMs,
  });
  expect(stateOfTask(world)).toMatchObject({ startedAtMs, endedAtMs: startedAtMs + 1_500 });
});

test.each<[string, number, { startedAtMs: number; endedAtMs: number }]>([
  ["right", 0, { startedAtMs: 5_000, endedAtMs: 55_000 }],
  ["an hour behind", -3_600_000, { startedAtMs: 1_000, endedAtMs: 51_000 }],
  ["an hour ahead", 3_600_000, { startedAtMs: 10_000, endedAtMs: 60_000 }],
])("an agent whose clock is %s: a task of 50 s took 50 s", (_name, wrongMs, told) => {
  for (const isStartKnown of [false, true]) {
    const world = new World();
    world.do({ kind: "connect-node", ...aHello("w1") });
    const submissions = [{ spec: aSpec(), idempotencyKey: undefined }];
    world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: 1_000 });
    world.plan(); // assigned at 1 s, starts at 5 s, ends at 55 s
    const run = { jobId: JOB, index: 0, attempt: 1 };
    const startedAtMs = 5_000 + wrongMs;
    const base = { kind: "report-runs", nodeId: nodeId("w1"), session: 1 } as const;
    if (isStartKnown) {
      world.do({ ...base, events: [{ kind: "started", run, startedAtMs }], nowMs: 5_020 });
    }
    const endedAtMs = startedAtMs + 50_000;
    const outcome = { kind: "succeeded" } as const;
    const events = [
      { kind: "ended", run, startedAtMs, endedAtMs, outcome, usage: undefined },
    ] as const;
    world.do({ ...base, events, nowMs: 60_000 });
    const state = stateOfTask(world) as typeof told;
    expect(state.endedAtMs - state.startedAtMs).toBe(50_000);
    if (!isStartKnown) expect(state).toMatchObject(told);
  }
});

test("one report may start and end several tasks of an array and of other jobs", () => {
  const world = new World();
  world.do({ kind: "connect-node", ...aHello("w1", { capacity: { cpu: 8_000 } }) });
  const submissions = [aSpec({ array: "0-2" }), aSpec()].map((spec) => ({
    spec,
    idempotencyKey: undefined,
  }));
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
  const tasks = world.plan();
  expect(tasks).toHaveLength(4);
  const startedAtMs = (world.nowMs += 1_000);
  const runs = tasks.map(({ jobId: id, index, attempt }) => ({ jobId: id, index, attempt }));
  const ends = runs.slice(1).map((run) => {
    const outcome = { kind: "succeeded" } as const;
    return { kind: "ended", run, startedAtMs, endedAtMs: startedAtMs, outcome } as const;
  });
  const events = [...runs.map((run) => ({ kind: "started", run, startedAtMs }) as const), ...ends];
  const { nowMs } = world;
  const { stops } = world.do({
    kind: "report-runs",
    nodeId: nodeId("w1"),
    session: 1,
    events,
    nowMs,
  });
  expect(stops).toEqual([]);
  const kinds = runs.map((run) => world.state.task(run)?.state.kind);
  expect(kinds).toEqual(["running", "succeeded", "succeeded", "succeeded"]);
  expect(checkState(world.state)).toEqual([]);
});
