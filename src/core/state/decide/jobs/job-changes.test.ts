import { beforeEach, describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../../../testing/builders.ts";
import { checkState, digest, readBack } from "../../../../testing/check/check-state.ts";
import { World } from "../../../../testing/world.ts";
import type { JobSpecInput } from "../../../model/job/job-spec.ts";
import { groupId, jobId, nodeId, serviceId } from "../../../model/ids.ts";

const JOB = jobId(1);
let world: World;

function submit(spec: Partial<JobSpecInput>, idempotencyKey?: string, isHeld = false): number {
  const submissions = [{ spec: aSpec(spec), idempotencyKey, isHeld }];
  const [job] = world.do({ kind: "submit-jobs", submissions, nowMs: world.nowMs });
  return job?.id ?? 0;
}
const hold = (index?: number): undefined =>
  world.do({ kind: "hold-job", jobId: JOB, index, hold: { reason: "wait" }, nowMs: world.nowMs });
const release = (index?: number): undefined =>
  world.do({ kind: "hold-job", jobId: JOB, index, hold: undefined, nowMs: world.nowMs });
const requeue = (index?: number): undefined =>
  world.do({ kind: "requeue-job", jobId: JOB, index, reason: "again", nowMs: world.nowMs });
const placed = (): string[] =>
  world.plan().map(({ jobId: id, index, attempt }) => `${id}.${index}#${attempt}`);
const stateOf = (index = 0) => world.state.task({ jobId: JOB, index })?.state;

beforeEach(() => {
  world = new World();
  world.do({ kind: "connect-node", ...aHello("n1") });
});

describe("a job that is submitted on hold", () => {
  test("is not placed until it is released, also after a restart", () => {
    submit({ array: "0-2" }, undefined, true);
    submit({ array: "0-2", beginAtMs: world.nowMs + 1_000 }, undefined, true);
    submit({ dependsOn: [{ kind: "singleton", name: "s" }] }, undefined, true);
    expect(world.changes.filter(({ table }) => table === "job")).toHaveLength(3);
    world.nowMs += 2_000;
    expect(placed()).toEqual([]);
    expect(world.state.jobs.get(JOB)?.job.hold).toMatchObject({ reason: "held by tester" });
    expect(checkState(world.state)).toEqual([]);
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
    for (const id of [3, 2, 1]) {
      const jobOnHold = { jobId: jobId(id), index: undefined, hold: undefined };
      world.do({ kind: "hold-job", ...jobOnHold, nowMs: world.nowMs });
    }
    expect(placed()).toHaveLength(4);
    expect(checkState(world.state)).toEqual([]);
  });

  test("stays released when its key is repeated", () => {
    submit({}, "key", true);
    release();
    submit({}, "key", true);
    expect(world.state.jobs.get(JOB)?.job.hold).toBeUndefined();
    expect(placed()).toEqual(["1.0#1"]);
  });

  test("has succeeded at once when it requests no energy", () => {
    submit({ command: [], energy: { wattSeconds: 0 } }, undefined, true);
    expect(world.state.jobs.get(JOB)?.job).toMatchObject({ closed: { kind: "succeeded" } });
    expect(world.state.jobs.get(JOB)?.job.hold).toBeUndefined();
    expect(checkState(world.state)).toEqual([]);
  });
});

describe("a job on hold", () => {
  test("is not placed until it is released, and that takes one row", () => {
    submit({ array: "0-999999", resources: { cpu: 1 } });
    const before = world.changes.length;
    hold();
    expect(world.changes.length - before).toBe(1);
    expect(placed()).toEqual([]);
    release();
    expect(placed()).toEqual(["1.0#1", "1.1#1", "1.2#1", "1.3#1"]);
    expect(checkState(world.state)).toEqual([]);
  });

  test("held tasks of an array are skipped, and go first when they are released", () => {
    submit({ array: "10-30:10", resources: { cpu: 4 } });
    hold(10);
    expect(placed()).toEqual(["1.20#1"]);
    release(10);
    world.report("n1", [1, 20, 1], 0);
    expect(placed()).toEqual(["1.10#1"]);
    world.report("n1", [1, 10, 1], 0);
    expect(placed()).toEqual(["1.30#1"]);
  });

  test("one task of a job on hold can be released by itself", () => {
    submit({ array: "0-9" });
    hold();
    release(7);
    expect(world.state.jobs.get(JOB)?.job.hold?.tasks).toEqual([
      { first: 0, last: 6 },
      { first: 8, last: 9 },
    ]);
    expect(placed()).toEqual(["1.7#1"]);
  });

  test("a running task continues, and a failed one stays in the queue", () => {
    submit({ retries: { max: 3, backoffMs: 0 } });
    expect(placed()).toEqual(["1.0#1"]);
    hold();
    world.report("n1", [1, 0, 1], 1);
    expect(placed()).toEqual([]);
    release();
    expect(placed()).toEqual(["1.0#2"]);
  });

  test("is on hold after a restart, and a repeated hold changes nothing", () => {
    submit({ array: "0-3" });
    hold(2);
    const before = world.changes.length;
    hold(2);
    expect(world.changes.length).toBe(before);
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
    world.restart();
    expect(placed()).toEqual(["1.0#1", "1.1#1", "1.3#1"]);
  });

  test("that depends on others waits for both", () => {
    submit({});
    const second = submit({ dependsOn: [{ on: ["1"] }] });
    const about = { kind: "hold-job", jobId: jobId(second), index: undefined } as const;
    world.do({ ...about, hold: { reason: "r" }, nowMs: 1 });
    expect(placed()).toEqual(["1.0#1"]);
    world.report("n1", [1, 0, 1], 0);
    world.settle();
    expect(placed()).toEqual([]);
    world.do({ ...about, hold: undefined, nowMs: 1 });
    expect(placed()).toEqual(["2.0#1"]);
  });

  test("cannot be held once it has ended, nor a task that it does not have", () => {
    submit({});
    placed();
    world.report("n1", [1, 0, 1], 0);
    expect(() => hold()).toThrow("job 1 has ended: succeeded; busbar rerun 1 submits it again");
    submit({ array: "0-1" });
    const about = { kind: "hold-job", jobId: jobId(2), index: 5, nowMs: 1 } as const;
    expect(() => world.do({ ...about, hold: { reason: "" } })).toThrow("job 2 has no task 5");
  });

  test("separate tasks on hold are bounded", () => {
    submit({ array: "0-999" });
    expect(() => {
      for (let index = 0; index < 1_000; index += 2) hold(index);
    }).toThrow("at most 256 separate tasks of job 1 can be held");
  });
});

test("a paused group places nothing, other groups do, and agents must return its tasks that were fetched ahead", () => {
  submit({ group: "a" });
  submit({ group: "b" });
  world.do({ kind: "put-group", id: groupId("a"), isPaused: true, by: "ada" });
  expect(world.state.groups.get(groupId("a"))?.group.pausedBy).toBe("ada");
  expect(placed()).toEqual(["2.0#1"]);
  world.do({ kind: "put-group", id: groupId("a"), weight: 2 });
  expect(placed()).toEqual([]);
  world.restart();
  expect(placed()).toEqual([]);
  world.do({ kind: "put-group", id: groupId("a"), isPaused: false });
  expect(placed()).toEqual(["1.0#1"]);
});

describe("a task that is requeued", () => {
  beforeEach(() => {
    submit({ array: "0-1" });
    placed();
    world.report("n1", [1, 0, 1]);
  });

  test("is stopped first, then placed in a new attempt that uses no retry", () => {
    requeue(0);
    expect(stateOf()).toMatchObject({ kind: "stopping", isRequeued: true, reason: "again" });
    expect(placed()).toEqual([]);
    world.report("n1", [1, 0, 1], { kind: "stopped" });
    expect(world.state.task({ jobId: JOB, index: 0 })).toMatchObject({
      failures: 0,
      past: [{ attempt: 1, nodeId: "n1", failure: { kind: "requeued", message: "again" } }],
    });
    expect(placed()).toEqual(["1.0#2"]);
  });

  test("gets its new attempt also when it ended before the stop reached it", () => {
    requeue();
    world.report("n1", [1, 0, 1], 0);
    world.report("n1", [1, 1, 1], 3);
    expect(placed()).toEqual(["1.0#2", "1.1#2"]);
  });

  test("can be cancelled while it is being stopped", () => {
    requeue(0);
    const cancel = { kind: "cancel-job", jobId: JOB, index: 0, reason: "no", nowMs: 1 } as const;
    world.do(cancel);
    world.report("n1", [1, 0, 1], { kind: "stopped" });
    expect(stateOf()).toMatchObject({ kind: "cancelled", reason: "no" });
  });

  test("is placed again at once when its node is lost", () => {
    requeue(0);
    world.do({ kind: "disconnect-node", nodeId: nodeId("n1"), session: 1, nowMs: world.nowMs });
    world.nowMs += 60_000;
    const settings = { nodeLostAfterMs: 30_000, finishedTasksMax: 9, finishedAgeMsMax: 99_999 };
    world.do({ kind: "tick", nowMs: world.nowMs, settings });
    world.do({ kind: "connect-node", ...aHello("n2", { nowMs: world.nowMs }) });
    expect(placed()).toEqual(["1.0#2", "1.1#2"]);
  });

  test.each([
    ["a task that is being stopped", () => (requeue(0), requeue(0)), "task 1.0 is being stopped"],
    [
      "a task that has ended",
      () => (world.report("n1", [1, 1, 1], 1), requeue(1)),
      "task 1.1 has ended: failed; busbar rerun 1 submits it again",
    ],
    [
      "a task in the queue",
      () => {
        submit({ resources: { cpu: 4 } });
        world.do({
          kind: "requeue-job",
          jobId: jobId(2),
          index: undefined,
          reason: "",
          nowMs: 1,
        });
      },
      "no task of job 2 is on a node: there is nothing to requeue",
    ],
  ])("%s is not requeued", (_, act, problem) => {
    expect(act).toThrow(problem);
  });
});

describe("an update", () => {
  const update = (set: object): undefined =>
    world.do({ kind: "update-job", jobId: JOB, set, by: "ada" });

  test("of the priority changes the order", () => {
    submit({ resources: { cpu: 4 }, name: "first" });
    submit({ resources: { cpu: 4 }, priority: 1 });
    update({ priority: 2 });
    expect(placed()).toEqual(["1.0#1"]);
    expect(world.state.jobs.get(JOB)?.job).toMatchObject({
      submitted: { priority: 0 },
      changedBy: "ada",
    });
    update({ priority: 0 });
    expect(world.state.jobs.get(JOB)?.job.submitted).toBeUndefined();
  });

  test("of the group moves the tallies of its tasks", () => {
    submit({ array: "0-5" });
    placed();
    world.report("n1", [1, 0, 1], 0);
    update({ group: "other" });
    expect(checkState(world.state)).toEqual([]);
    const other = world.state.groups.get(groupId("other"));
    expect(other?.tasks).toMatchObject({ succeeded: 1, assigned: 3, pending: 2 });
    expect(other?.used).toEqual({ cpu: 3_000 });
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
  });

  test("does not affect the comparison of repeated submissions", () => {
    submit({ timeLimitMs: 1_000 }, "key");
    update({ timeLimitMs: null, priority: 5 });
    expect(world.state.jobs.get(JOB)?.job.spec).toMatchObject({ timeLimitMs: undefined });
    expect(submit({ timeLimitMs: 1_000 }, "key")).toBe(1);
    expect(() => submit({}, "key")).toThrow("timeLimitMs");
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
  });

  test.each([
    [{ priority: 1.5 }, "priority"],
    [{ timeLimitMs: 0 }, "timeLimitMs"],
    [{ group: "a b" }, "group"],
  ])("%j is rejected, and changes nothing", (set, field) => {
    submit({});
    const before = world.changes.length;
    expect(() => update(set)).toThrow(field);
    expect(world.changes.length).toBe(before);
  });

  test("into a group whose queue is full is rejected", () => {
    world.do({ kind: "put-group", id: groupId("small"), queuedTasksMax: 3 });
    submit({ array: "0-9" });
    expect(() => update({ group: "small" })).toThrow("may queue at most 3 tasks");
  });
});

describe("a rerun", () => {
  const rerun = (only?: readonly number[]) =>
    world.do({
      kind: "rerun-job",
      jobId: JOB,
      only: only?.map((index) => ({ first: index, last: index, step: 1 })),
      idempotencyKey: undefined,
      nowMs: world.nowMs,
    });

  test("is a new job of the same spec without dependencies", () => {
    submit({ array: "0-1", dependsOn: [{ kind: "singleton", name: "x" }], comment: "c" });
    placed();
    expect(rerun()).toEqual({ id: 2, existed: false });
    const [one, other] = [1, 2].map((id) => world.state.jobs.get(jobId(id))?.job.spec);
    expect(other?.terms).toEqual(one?.terms);
    expect(other?.dependsOn).toBeUndefined();
  });

  test("of some tasks has exactly these", () => {
    submit({ array: "0-9" });
    rerun([3, 7]);
    expect(world.state.jobs.get(jobId(2))?.progress.counts.pending).toBe(2);
    expect(() => rerun([10])).toThrow("job 1 has no such tasks");
  });

  test("of a job that had a client's input is rejected: no client would send it", () => {
    submit({ attach: "stdin" });
    expect(() => rerun()).toThrow(
      "job 1 had the standard input of its client, which cannot be repeated; start it again with busbar run",
    );
    expect(world.state.jobs.size).toBe(1);
  });

  test("of an instance is rejected: it would belong to no service, and nothing would end it", () => {
    const spec = aSpec({ service: { restart: "on-failure" } });
    const id = serviceId("web");
    world.do({ kind: "put-service", id, spec, replicas: 1, nowMs: world.nowMs });
    world.settle();
    const message =
      "job 1 is instance web-1 of service web; busbar services apply web starts ended instances again";
    expect(() => rerun()).toThrow(message);
    world.plan();
    world.report("n1", [1, 0, 1], 0);
    expect(() => rerun()).toThrow(message);
    expect(() => hold()).toThrow(
      "job 1 has ended: succeeded; busbar services apply web starts ended instances again",
    );
    expect(world.state.jobs.size).toBe(1);
  });
});
