import { describe, expect, test } from "vitest";

import { checkState, digest, readBack } from "../../../../testing/check/check-state.ts";
import { aHello, aSpec } from "../../../../testing/builders.ts";
import { World } from "../../../../testing/world.ts";
import { limits } from "../../../../limits.ts";
import { parseGraph } from "../../../graph/jgf.ts";
import { documentOf, times } from "../../../graph/testing/documents.ts";
import { clusterId, jobId, nodeId } from "../../../model/ids.ts";
import type { JobSpecInput } from "../../../model/job/job-spec.ts";
import type { ClusterAgentTerms } from "../../../model/node/node.ts";
import type { Task } from "../../../model/job/task.ts";
import type { TakeCapacity } from "../../../model/node/take-capacity.ts";
import type { TaskEvent } from "../../command.ts";
import { nextTickMs } from "../tick.ts";

const BLUE = clusterId("blue");
const SETTINGS = { nodeLostAfterMs: 60_000, finishedTasksMax: 1_000, finishedAgeMsMax: 1e12 };

/** Blue has four nodes of eight cores. */
function blueWorld(): World {
  const world = new World();
  const node = { type: "node", inside: [{ type: "core", size: 8 }] };
  const graph = parseGraph(documentOf({ type: "cluster", inside: times(4, node) }));
  world.do({ kind: "register-cluster", id: BLUE, graph, isUpdate: false, nowMs: 5 });
  return world;
}

/** Jobs for blue, which are offered to it. */
function offer(world: World, count = 1, spec: Partial<JobSpecInput> = {}): void {
  const one = {
    spec: aSpec({ placement: { cluster: "blue" }, ...spec }),
    idempotencyKey: undefined,
  };
  const submissions = Array.from({ length: count }, () => one);
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
  world.plan();
}

const ref = (job: number, index = 0) => ({ jobId: jobId(job), index });

const accept = (world: World, ...jobs: number[]) =>
  world.do({
    kind: "accept-tasks",
    cluster: BLUE,
    tasks: jobs.map((job) => ref(job)),
    nowMs: world.nowMs,
  });

const report = (world: World, ...events: TaskEvent[]) =>
  world.do({ kind: "report-tasks", cluster: BLUE, events, nowMs: world.nowMs });

const ended = (job: number, more: Partial<TaskEvent> = {}): TaskEvent =>
  ({
    kind: "ended",
    task: ref(job),
    startedAtMs: undefined,
    endedAtMs: 2_000,
    outcome: { kind: "succeeded" },
    ...more,
  }) as TaskEvent;

const stateOf = (world: World, job: number): Task["state"] | undefined =>
  world.state.task(ref(job))?.state;
const jobState = (world: World, job: number): string | undefined =>
  world.state.jobs.get(jobId(job))?.progress.state;

/** Indexes follow from the rows, and rows are read back unchanged. */
function expectSound(world: World): void {
  expect(checkState(world.state)).toEqual([]);
  expect(digest(readBack(world.changes))).toEqual(digest(world.state));
}

describe("a cluster that runs accepted tasks by itself", () => {
  test("accepts each task once; unavailable ones are rejected, the rest is accepted", () => {
    const world = blueWorld();
    offer(world, 3);
    expect(accept(world, 1, 1, 9).refused.map(({ task, reason }) => [task.jobId, reason])).toEqual([
      [1, "it appears twice in the request"],
      [9, "it is not offered to any cluster"],
    ]);
    expect(accept(world, 1, 2)).toMatchObject({
      accepted: [ref(2)],
      refused: [{ reason: "it is accepted already" }],
    });
    expect([jobState(world, 1), jobState(world, 3)]).toEqual(["accepted", "pending"]);
    expect(stateOf(world, 1)).toMatchObject({ cluster: "blue", acceptedAtMs: 1_000 });
    expectSound(world);
  });

  test("tasks of another cluster cannot be accepted", () => {
    const world = blueWorld();
    offer(world);
    const graph = world.state.clusters.graphs.graph(BLUE);
    const red = clusterId("red");
    world.do({ kind: "register-cluster", id: red, graph, isUpdate: false, nowMs: 5 });
    const command = { kind: "accept-tasks", cluster: red, tasks: [ref(1)], nowMs: 9 } as const;
    expect(world.do(command).refused[0]?.reason).toBe("it is offered to another cluster");
    const none = { ...command, cluster: clusterId("none") };
    expect(() => world.do(none)).toThrow("there is no cluster none");
    accept(world, 1);
    const events = [ended(1)];
    world.do({ kind: "report-tasks", cluster: red, events, nowMs: 9 });
    expect(jobState(world, 1)).toBe("accepted");
  });

  test("reports them: running, and how they ended, with the end of their output", () => {
    const world = blueWorld();
    offer(world, 2);
    accept(world, 1, 2);
    world.nowMs = 3_000;
    report(world, { kind: "started", task: ref(1), startedAtMs: 2_500 });
    expect(jobState(world, 1)).toBe("running");
    expect(world.state.totals.tasks).toMatchObject({ running: 1, accepted: 1 });
    const long = "x".repeat(limits.reportedOutputCharsMax + 5);
    report(world, ended(1, { output: { stdout: `${long}end`, stderr: "" } }), {
      ...ended(2),
      outcome: { kind: "exited", exitCode: 3 },
    } as TaskEvent);
    expect(world.state.task(ref(1))).toMatchObject({
      state: { kind: "succeeded", cluster: "blue", startedAtMs: 2_500, endedAtMs: 2_500 },
      told: { stderr: "" },
    });
    const { told } = world.state.task(ref(1)) ?? {};
    expect([told?.stdout.length, told?.stdout.endsWith("end")]).toEqual([
      limits.reportedOutputCharsMax,
      true,
    ]);
    expect(stateOf(world, 2)).toMatchObject({ kind: "failed", failure: { exitCode: 3 } });
    expect(world.state.acceptedTasks.reportedChars).toBe(limits.reportedOutputCharsMax);
    expectSound(world);
  });

  test("outdated reports change nothing, and unwanted runs must be stopped", () => {
    const world = blueWorld();
    offer(world, 2, { retries: { max: 1, backoffMs: 0 } });
    accept(world, 1, 2);
    const started = { kind: "started", task: ref(1), startedAtMs: 900 } as const;
    expect(report(world, { ...started, attempt: 7 })).toEqual({ unwanted: [ref(1)] });
    expect(stateOf(world, 1)).toMatchObject({ startedAtMs: undefined });
    const failed = { ...ended(1), outcome: { kind: "exited", exitCode: 1 } } as TaskEvent;
    report(world, failed);
    expect(stateOf(world, 1)?.kind).toBe("waiting");
    report(world, failed); // a second time
    world.plan();
    expect(world.state.task(ref(1))).toMatchObject({ attempt: 2, state: { kind: "offered" } });
    expect(report(world, started)).toEqual({ unwanted: [ref(1)] });
    expect(report(world, { ...ended(1), attempt: 1 })).toEqual({ unwanted: [] });
    expect(stateOf(world, 1)?.kind).toBe("offered");
    const cancel = { kind: "cancel-job", jobId: jobId(2), index: undefined } as const;
    world.do({ ...cancel, reason: "enough", by: "me", nowMs: 5 });
    expect(stateOf(world, 2)).toMatchObject({ kind: "cancelled", cluster: "blue" });
    expect(report(world, { ...started, task: ref(2) })).toEqual({ unwanted: [ref(2)] });
    expectSound(world);
  });

  test("returns tasks that it will not run", () => {
    const world = blueWorld();
    offer(world);
    accept(world, 1);
    report(world, { kind: "returned", task: ref(1) });
    expect([stateOf(world, 1)?.kind, jobState(world, 1)]).toEqual(["waiting", "pending"]);
    world.plan();
    expect(world.state.task(ref(1))).toMatchObject({ attempt: 2, state: { kind: "offered" } });
    accept(world, 1);
    report(world, { kind: "started", task: ref(1), startedAtMs: 1_500 });
    report(world, { kind: "returned", task: ref(1) });
    expect([stateOf(world, 1)?.kind, jobState(world, 1)]).toEqual(["waiting", "running"]);
    expect(world.state.task(ref(1))).toMatchObject({
      losses: 1,
      past: [
        {
          attempt: 2,
          cluster: "blue",
          failure: { message: "cluster blue returned it after its start" },
        },
      ],
    });
    expectSound(world);
  });

  test("a task that it does not report for too long fails, and is not run again", () => {
    const world = blueWorld();
    offer(world, 2, { retries: { max: 3 } });
    accept(world, 1);
    world.nowMs = 2_000;
    accept(world, 2);
    world.nowMs = 5_000;
    report(world, { kind: "started", task: ref(1), startedAtMs: 4_000 }); // the latest report
    world.restart();
    const dueMs = 2_000 + limits.acceptedSilenceMsMax;
    expect(nextTickMs(world.state, SETTINGS)).toBe(dueMs);
    world.do({ kind: "tick", nowMs: dueMs, settings: SETTINGS });
    expect([jobState(world, 1), jobState(world, 2)]).toEqual(["running", "failed"]);
    expect(stateOf(world, 2)).toMatchObject({
      failure: { kind: "lost", message: expect.stringContaining("did not report") as string },
    });
    world.do({ kind: "tick", nowMs: dueMs + 3_000, settings: SETTINGS });
    expect(jobState(world, 1)).toBe("failed");
    expectSound(world);
  });

  test("its accepted tasks end with it: the next cluster of its name does not have them", () => {
    const world = blueWorld();
    offer(world, 2, { retries: { max: 3 } });
    accept(world, 1);
    world.do({ kind: "remove-cluster", id: BLUE, nowMs: 9 });
    expect(stateOf(world, 1)).toMatchObject({
      kind: "failed",
      failure: { kind: "lost", message: "cluster blue was deleted after it accepted the task" },
    });
    expect(jobState(world, 2)).toBe("pending");
    world.plan();
    expectSound(world);
  });

  test("dependents wait for its reports", () => {
    const world = blueWorld();
    offer(world, 1, { name: "first" });
    const spec = aSpec({ dependsOn: [{ on: ["first"] }], placement: { cluster: "blue" } });
    const submissions = [{ spec, idempotencyKey: undefined }];
    world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: 1_000 });
    accept(world, 1);
    world.settle();
    expect(world.plan()).toEqual([]);
    report(world, ended(1));
    world.settle();
    expect(world.plan()).toMatchObject([{ jobId: 2, state: { kind: "offered" } }]);
  });
});

describe("an agent of a cluster", () => {
  const KEEN: TakeCapacity = { tasks: 100, free: {} };

  function join(world: World, name = "agent", terms: Partial<ClusterAgentTerms> = {}): void {
    const clusterAgent = { leaseMs: undefined, onLost: "requeue", ...terms } as const;
    const hello = aHello(name, { cluster: "blue", capacity: {}, clusterAgent });
    world.do({ kind: "connect-node", ...hello });
  }

  const take = (world: World, room: TakeCapacity, name = "agent") =>
    world.do({ kind: "take-tasks", nodeId: nodeId(name), session: 1, room, nowMs: world.nowMs });

  const jobs = ({ taken }: { readonly taken: readonly { jobId: number }[] }) =>
    taken.map(({ jobId: id }) => id);

  test("accepts the oldest tasks that fit its free capacity; nothing is placed on it", () => {
    const world = blueWorld();
    join(world);
    offer(world, 1, { resources: { cpu: 6 } });
    offer(world, 3, { resources: { cpu: 2 } });
    const first = take(world, { tasks: 2, free: { cpu: 5_000 } });
    expect(jobs(first)).toEqual([2, 3]);
    expect(first.room).toEqual({ tasks: 0, free: { cpu: 1_000 } });
    expect(world.state.task(ref(2))).toMatchObject({
      attempt: 1,
      state: { kind: "assigned", nodeId: "agent" },
    });
    expect(jobs(take(world, { tasks: 9, free: { cpu: 6_000, memory: 1 } }))).toEqual([1]);
    expect(jobs(take(world, { tasks: 0, free: {} }))).toEqual([]);
    expect(world.state.clusters.loads.tasksOf(BLUE)).toBe(4);
    expectSound(world);
  });

  test("whole nodes of a request count too, and any alternative may fit", () => {
    const world = blueWorld();
    join(world);
    const node = (count: number) => ({
      type: "node",
      count,
      isExclusive: true,
      with: [{ type: "core", count: 8 }],
    });
    offer(world, 1, { request: [[node(4)], [node(2)]] });
    expect(jobs(take(world, { tasks: 1, free: { nodes: 1 } }))).toEqual([]);
    const { taken, room } = take(world, { tasks: 1, free: { nodes: 3, cpu: 24_000 } });
    expect([taken.length, room.free]).toEqual([1, { nodes: 1, cpu: 8_000 }]);
    // Of shared nodes, only the allocated amounts count.
    offer(world, 1, { request: [[{ ...node(2), isExclusive: false }]] });
    const shared = take(world, { tasks: 1, free: { nodes: 0, cpu: 24_000 } });
    expect([shared.taken.length, shared.room.free]).toEqual([1, { nodes: 0, cpu: 8_000 }]);
  });

  test("two of one cluster share the work, each task has one of them", () => {
    const world = blueWorld();
    join(world, "one");
    join(world, "two");
    offer(world, 5);
    expect(jobs(take(world, { tasks: 3, free: {} }, "one"))).toEqual([1, 2, 3]);
    expect(jobs(take(world, KEEN, "two"))).toEqual([4, 5]);
    expect(accept(world, 1, 4).accepted).toEqual([]);
  });

  test("a drained one accepts nothing; nor does an old session or a node", () => {
    const world = blueWorld();
    join(world);
    offer(world);
    const drain = { reason: "repair" };
    world.do({ kind: "drain-node", nodeId: nodeId("agent"), drain });
    expect(take(world, KEEN).taken).toEqual([]);
    const old = { kind: "take-tasks", nodeId: nodeId("agent"), session: 9 } as const;
    expect(() => world.do({ ...old, room: KEEN, nowMs: 5 })).toThrow("no longer the session");
    world.do({ kind: "connect-node", ...aHello("plain") });
    expect(() => take(world, KEEN, "plain")).toThrow("is not the agent of a cluster");
  });

  test("its accepted tasks run, retry and end as on any node", () => {
    const world = blueWorld();
    join(world);
    offer(world, 1, { retries: { max: 1, backoffMs: 0 } });
    take(world, KEEN);
    world.report("agent", [1, 0, 1], 3);
    world.plan();
    expect(world.state.task(ref(1))).toMatchObject({ attempt: 2, state: { kind: "offered" } });
    take(world, KEEN);
    world.report("agent", [1, 0, 2]);
    world.report("agent", [1, 0, 2], 0);
    expect(jobState(world, 1)).toBe("succeeded");
    expectSound(world);
  });

  test.each([
    ["requeue", 4_000, "waiting"],
    ["fail", 4_000, "failed"],
    ["keep", 4_000, "running"],
  ] as const)("disconnected for longer than its lease: %s", (onLost, tickMs, then) => {
    const world = blueWorld();
    join(world, "agent", { leaseMs: 3_000, onLost });
    offer(world);
    take(world, KEEN);
    world.report("agent", [1, 0, 1]);
    const away = { kind: "disconnect-node", nodeId: nodeId("agent"), session: 1 } as const;
    world.do({ ...away, nowMs: 1_000 });
    expect(nextTickMs(world.state, SETTINGS)).toBe(tickMs);
    world.do({ kind: "tick", nowMs: 3_999, settings: SETTINGS });
    expect(stateOf(world, 1)?.kind).toBe("running");
    world.do({ kind: "tick", nowMs: 1e9, settings: SETTINGS });
    expect(stateOf(world, 1)?.kind).toBe(then);
    expectSound(world);
  });

  test("tasks that a cluster without agents was offered or had go elsewhere if they can", () => {
    const world = blueWorld();
    const graph = parseGraph(documentOf({ type: "cluster", inside: [{ type: "core", size: 8 }] }));
    const red = clusterId("red");
    join(world, "agent", { leaseMs: 3_000, onLost: "requeue" });
    const request = [[{ type: "core", count: 2 }]];
    offer(world, 2, { request, placement: { kind: "pulling" } });
    offer(world);
    expect(jobs(take(world, { tasks: 1, free: {} }))).toEqual([1]);
    world.do({ kind: "register-cluster", id: red, graph, isUpdate: false, nowMs: 5 });
    const away = { kind: "disconnect-node", nodeId: nodeId("agent"), session: 1 } as const;
    world.do({ ...away, nowMs: 1_000 });
    offer(world, 1, { request, placement: { kind: "pulling" } });
    expect(stateOf(world, 4)).toMatchObject({ kind: "offered", cluster: "red" });
    expect(stateOf(world, 2)).toMatchObject({ kind: "offered", cluster: "blue" }); // it may come back
    world.nowMs = 5_000;
    world.do({ kind: "tick", nowMs: 5_000, settings: SETTINGS });
    world.plan();
    expect([1, 2, 3].map((job) => world.state.task(ref(job)))).toMatchObject([
      { attempt: 2, state: { kind: "offered", cluster: "red" } },
      { attempt: 2, state: { kind: "offered", cluster: "red" } },
      { attempt: 2, state: { kind: "offered", cluster: "blue" } }, // which it asked for
    ]);
    expectSound(world);
  });

  test("a cluster has one kind of agent, of the whole or of nodes, and a name keeps its kind", () => {
    const world = blueWorld();
    const hello = (name: string, cluster: string, isWhole: boolean) => {
      const clusterAgent = { leaseMs: undefined, onLost: "keep" } as const;
      const more = isWhole ? { cluster, clusterAgent } : { cluster };
      return () => world.do({ kind: "connect-node", ...aHello(name, more) });
    };
    expect(hello("a", "blue", false)).toThrow("is a pull cluster");
    hello("a", "default", false)();
    expect(hello("b", "default", true)).toThrow("cluster default is managed");
    expect(hello("b", "unheard-of", true)).toThrow("is not registered yet");
    expect(hello("a", "blue", true)).toThrow("a is the name of a node; choose another name");
    hello("b", "blue", true)();
    expect(hello("b", "default", false)).toThrow("b is the name of a cluster's agent");
    const remove = { kind: "remove-cluster", id: BLUE, nowMs: 9 } as const;
    expect(() => world.do(remove)).toThrow("cluster blue has agents (b); remove them first");
  });
});

test("a whole jobspec without requests goes to any cluster", () => {
  const world = new World();
  const graph = parseGraph(documentOf({ type: "cluster" }));
  world.do({ kind: "register-cluster", id: BLUE, graph, isUpdate: false, nowMs: 5 });
  const spec = aSpec({ jobspec: "version: 1", command: undefined, placement: { cluster: "blue" } });
  const submissions = [{ spec, idempotencyKey: undefined }];
  const command = { kind: "submit-jobs", submissions, by: "me", nowMs: 5 } as const;
  world.do({ ...command, mustBePossible: true });
  expect(world.plan()).toMatchObject([{ state: { kind: "offered", cluster: "blue" } }]);
  expectSound(world);
});
