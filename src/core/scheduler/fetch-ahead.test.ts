import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../testing/builders.ts";
import { checkState } from "../../testing/check/check-state.ts";
import { World } from "../../testing/world.ts";
import { limits } from "../../limits.ts";
import { groupId, jobId, nodeId } from "../model/ids.ts";
import type { Task } from "../model/job/task.ts";
import type { RunEvent, RunRef } from "../state/command.ts";
import { AheadRound } from "./fetch-ahead.ts";
import { fetchNext } from "../state/decide/tasks/held.ts";
import { describeRefusal } from "./explain/describe.ts";
import { createPolicy } from "./policy.ts";

const POLICY = createPolicy({ policy: "spread", seed: 0 }, () => 0);
const CAPACITY = { cpu: 2_000 };

const refOf = ({ jobId: id, index, attempt }: Task): RunRef => ({ jobId: id, index, attempt });

/** Applies all proposals to fetch tasks ahead or to take them back. */
function fetchAhead(world: World): Task[] {
  const rows: Task[] = [];
  const round = new AheadRound(world.state, POLICY);
  for (;;) {
    const next = fetchNext(world.state, round, world.nowMs);
    if (next === undefined) return rows;
    if (next.kind === "refused") throw new Error(describeRefusal(next.refusal));
    const { row } = next;
    world.apply({ table: "task", row });
    rows.push(row);
  }
}

const nodeOf = (world: World, name = "n1") => {
  const record = world.state.nodes.get(nodeId(name));
  if (record === undefined) throw new Error(`no node ${name}`);
  return record;
};
const heldOn = (world: World, name = "n1"): Task[] => [...nodeOf(world, name).held];
const stateOf = (world: World, { jobId: id, index }: RunRef) =>
  world.state.task({ jobId: id, index })?.state;

function submit(world: World, spec: Parameters<typeof aSpec>[0]): void {
  const submissions = [{ spec: aSpec(spec), idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
}

function report(world: World, events: readonly RunEvent[], name = "n1") {
  const { nowMs } = world;
  return world.do({ kind: "report-runs", nodeId: nodeId(name), session: 1, events, nowMs });
}

const ended = (world: World, run: RunRef, tookMs: number, began?: RunRef): RunEvent => ({
  kind: "ended",
  run,
  startedAtMs: world.nowMs - tookMs,
  endedAtMs: world.nowMs,
  outcome: { kind: "succeeded" },
  began,
});

/** A full node on which some tasks of an array have ended, each after `tookMs`. */
function busyWorld({ tookMs = 25, ends = 4, canHold = true, tasks = 40 } = {}): World {
  const world = new World();
  world.do({ kind: "connect-node", ...aHello("n1", { canHold, capacity: CAPACITY }) });
  submit(world, { array: `0-${tasks - 1}` });
  for (let count = 0; count < ends; count++) {
    world.plan();
    world.nowMs += tookMs;
    const [task] = nodeOf(world).tasks;
    if (task === undefined) throw new Error("nothing runs");
    report(world, [ended(world, refOf(task), tookMs)]);
  }
  world.plan();
  return world;
}

describe("how many tasks are fetched ahead", () => {
  test.each([
    { name: "as many as end in 50 ms, of very short ones", world: { tookMs: 5 }, want: 20 },
    { name: "twice as many as run, of such that take half as long", world: {}, want: 4 },
    { name: "as many as run, of short ones", world: { tookMs: 60 }, want: 2 },
    { name: "none of longer ones", world: { tookMs: 150 }, want: 0 },
    { name: "none before some have ended", world: { ends: 3 }, want: 0 },
    { name: "none for an agent that does not say that it can", world: { canHold: false }, want: 0 },
    { name: "not more than there are", world: { tasks: 9 }, want: 3 },
  ])("$name", ({ world: options, want }) => {
    const world = busyWorld(options);
    expect(fetchAhead(world)).toHaveLength(want);
    expect(heldOn(world)).toHaveLength(want);
    expect(checkState(world.state)).toEqual([]);
  });

  test("a failure stops it: a suspect node gets no tasks ahead", () => {
    const world = busyWorld();
    const [task] = nodeOf(world).tasks;
    if (task === undefined) throw new Error("nothing runs");
    world.report("n1", [task.jobId, task.index, 1], 1);
    world.plan();
    expect(fetchAhead(world)).toEqual([]);
  });

  test("none of a group with a limit, or while another request goes first", () => {
    const limited = busyWorld();
    const id = groupId("default");
    limited.do({ kind: "put-group", id, runningTasksMax: 100 });
    expect(fetchAhead(limited)).toEqual([]);
    const mixed = busyWorld();
    submit(mixed, { priority: 5, resources: { cpu: 2 } });
    mixed.plan();
    expect(fetchAhead(mixed)).toEqual([]);
  });
});

test("a held task uses no capacity of its node and no share of its group", () => {
  const world = busyWorld();
  const { used } = nodeOf(world);
  const group = world.state.groups.get(groupId("default"));
  const before = [{ ...used }, { ...group?.used }];
  expect(fetchAhead(world)).not.toEqual([]);
  expect([{ ...nodeOf(world).used }, { ...group?.used }]).toEqual(before);
  expect(group?.activeTasks).toBe(2);
  expect(group?.tasks.held).toBe(4);
});

describe("how a held task begins", () => {
  test("the end of one and the beginning of the other are one step", () => {
    const world = busyWorld();
    fetchAhead(world);
    const [running] = nodeOf(world).tasks;
    const [held] = heldOn(world);
    if (running === undefined || held === undefined) throw new Error("nothing there");
    const { stops } = report(world, [ended(world, refOf(running), 5, refOf(held))]);
    expect(stops).toEqual([]);
    expect(stateOf(world, held)).toMatchObject({ kind: "assigned", isBegun: true });
    expect(nodeOf(world).used).toEqual({ cpu: 2_000 });
    expect(world.plan()).toEqual([]);
    expect(fetchAhead(world)).toHaveLength(1);
    expect(checkState(world.state)).toEqual([]);
  });

  test("a task that ended meanwhile counts for its node", () => {
    const world = busyWorld();
    fetchAhead(world);
    const [running] = nodeOf(world).tasks;
    const [held] = heldOn(world);
    if (running === undefined || held === undefined) throw new Error("nothing there");
    const before = nodeOf(world).runTimes.count;
    report(world, [ended(world, refOf(running), 5, refOf(held)), ended(world, refOf(held), 5)]);
    expect(stateOf(world, held)?.kind).toBe("succeeded");
    expect(nodeOf(world).runTimes.count).toBe(before + 2);
    expect(checkState(world.state)).toEqual([]);
  });

  test("a run that is not (or no longer) the node's is stopped", () => {
    const world = busyWorld();
    const [running] = nodeOf(world).tasks;
    if (running === undefined) throw new Error("nothing there");
    const began = { jobId: jobId(1), index: 39, attempt: 1 };
    expect(report(world, [ended(world, refOf(running), 5, began)]).stops).toEqual([began]);
  });
});

describe("how a held task is taken back", () => {
  function aHeld(world = busyWorld()): { readonly world: World; readonly held: Task } {
    fetchAhead(world);
    const [held] = heldOn(world);
    if (held === undefined) throw new Error("nothing is held");
    return { world, held };
  }
  const givenBack = (world: World, { state, ...task }: Task): void => {
    const heldAtMs = state.kind === "held" ? state.heldAtMs : 0;
    report(world, [{ kind: "returned", run: refOf({ ...task, state }), heldAtMs }]);
  };
  const reasons = (world: World) =>
    heldOn(world).map(({ state }) => (state.kind === "held" ? state.takeBack?.reason : ""));

  test("the attempt was not made: the task is queued as before", () => {
    const { world, held } = aHeld();
    givenBack(world, held);
    expect(world.state.task(held)).toMatchObject({ attempt: 0, state: { isFresh: true } });
    expect(checkState(world.state)).toEqual([]);
  });

  test("an answer to an earlier question changes nothing", () => {
    const { world, held } = aHeld();
    report(world, [{ kind: "returned", run: refOf(held), heldAtMs: 1 }]);
    expect(stateOf(world, held)?.kind).toBe("held");
  });

  test("a cancelled task ends when it is taken back, and is stopped when it has begun", () => {
    const { world, held } = aHeld();
    const cancel = { kind: "cancel-job", jobId: jobId(1), index: undefined } as const;
    world.do({ ...cancel, by: "me", reason: "enough", nowMs: world.nowMs });
    const [, other] = heldOn(world);
    if (other === undefined) throw new Error("nothing is held");
    givenBack(world, held);
    expect(stateOf(world, held)).toMatchObject({ kind: "cancelled", reason: "enough" });
    const [running] = nodeOf(world).tasks;
    if (running === undefined) throw new Error("nothing runs");
    report(world, [ended(world, refOf(running), 5, refOf(other))]);
    expect(stateOf(world, other)).toMatchObject({ kind: "stopping", reason: "enough" });
    expect(checkState(world.state)).toEqual([]);
  });

  test("a drained, an unhealthy and a quarantined node give back all", () => {
    const { world } = aHeld();
    const drain = { reason: "repair" };
    world.do({ kind: "drain-node", nodeId: nodeId("n1"), drain });
    expect(fetchAhead(world)).toHaveLength(4);
    expect(new Set(reasons(world))).toEqual(new Set(["its node gets no tasks now"]));
    const { world: sick } = aHeld();
    sick.do({
      kind: "report-health",
      nodeId: nodeId("n1"),
      session: 1,
      sickness: "full",
      nowMs: 1,
    });
    expect(fetchAhead(sick)).toHaveLength(4);
  });

  test("a request that goes first gets the capacity that becomes free", () => {
    const { world } = aHeld();
    submit(world, { priority: 5, resources: { cpu: 2 } });
    world.plan();
    const [running] = nodeOf(world).tasks;
    if (running === undefined) throw new Error("nothing runs");
    report(world, [ended(world, refOf(running), 5)]);
    world.plan();
    fetchAhead(world);
    expect(new Set(reasons(world))).toEqual(
      new Set(["a job that requests something else goes first"]),
    );
  });

  test("a group that is far behind gets what another group holds", () => {
    const { world } = aHeld();
    submit(world, { group: "other", array: "0-9" });
    world.plan();
    const [running] = nodeOf(world).tasks;
    const [held] = heldOn(world);
    if (running === undefined || held === undefined) throw new Error("nothing there");
    report(world, [ended(world, refOf(running), 5, refOf(held))]);
    world.plan();
    fetchAhead(world);
    expect(reasons(world).filter((reason) => reason === "group other goes first")).toHaveLength(3);
    expect(heldOn(world).filter(({ jobId: id }) => id === 2)).toHaveLength(1);
  });

  test("a node that could begin it now gets it, and no more than it has capacity for", () => {
    const { world } = aHeld(busyWorld({ tasks: 10 }));
    world.do({ kind: "connect-node", ...aHello("n2", { capacity: CAPACITY }) });
    const [running] = nodeOf(world).tasks;
    const [held] = heldOn(world);
    if (running === undefined || held === undefined) throw new Error("nothing there");
    report(world, [ended(world, refOf(running), 5, refOf(held))]);
    expect(world.plan()).toEqual([]);
    fetchAhead(world);
    expect(reasons(world)).toEqual(expect.arrayContaining(["node n2 could start it now"]));
    expect(reasons(world).filter((reason) => reason !== undefined)).toHaveLength(2);
  });

  test("a held task that does not begin in time is taken back", () => {
    const { world, held } = aHeld();
    const settings = { nodeLostAfterMs: 1e6, finishedTasksMax: 1e6, finishedAgeMsMax: 1e9 };
    world.nowMs += limits.heldMsMax;
    world.do({ kind: "tick", nowMs: world.nowMs, settings });
    expect(stateOf(world, held)).toMatchObject({ takeBack: { isCancel: false } });
  });
});

describe("after a lost connection", () => {
  const hello = (world: World, runs: readonly RunRef[], bootId = "boot-1") =>
    world.do({
      kind: "connect-node",
      ...aHello("n1", { canHold: true, capacity: CAPACITY, runs, bootId, session: 2 }),
      nowMs: world.nowMs,
    });

  test("tasks that the agent has begun continue; the others are held again", () => {
    const world = busyWorld();
    fetchAhead(world);
    const [begun, left] = heldOn(world);
    if (begun === undefined || left === undefined) throw new Error("nothing is held");
    const { holds } = hello(world, [...[...nodeOf(world).tasks].map(refOf), refOf(begun)]);
    expect(stateOf(world, begun)).toMatchObject({ kind: "assigned", isBegun: true });
    expect(holds.map(({ run, isWanted }) => [run.index, isWanted])).toEqual([
      [left.index, true],
      [left.index + 1, true],
      [left.index + 2, true],
    ]);
    expect(world.plan()).toEqual([]);
    expect(checkState(world.state)).toEqual([]);
  });

  test("a restarted machine may have begun it: the attempt is lost", () => {
    const world = busyWorld();
    fetchAhead(world);
    const [held] = heldOn(world);
    if (held === undefined) throw new Error("nothing is held");
    hello(world, [], "boot-2");
    expect(world.state.task(held)).toMatchObject({ attempt: 1, losses: 1 });
    expect(checkState(world.state)).toEqual([]);
  });

  test("rows that are read back give the same state", () => {
    const world = busyWorld();
    fetchAhead(world);
    const before = heldOn(world).map(refOf);
    world.restart();
    expect(heldOn(world).map(refOf)).toEqual(before);
    expect(checkState(world.state)).toEqual([]);
  });
});
