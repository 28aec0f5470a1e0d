import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  GroupSchema,
  JobSchema,
  NodeSchema,
  StatsSchema,
  TaskSchema,
  WatchEventSchema,
} from "../gen/busbar/v1/busbar_pb.ts";
import "../client/client.ts"; // registers the messages
import { stateOf } from "../client/state.ts";
import { toEventRow, toGroupRow, toJobRow, toNodeRow, toStatsRow, toTaskRow } from "./json.ts";

const noTasks = {
  pending: 0,
  waiting: 0,
  assigned: 0,
  running: 0,
  stopping: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
  skipped: 0,
  offered: 0,
  accepted: 0,
  held: 0,
};

test("a job with only the required fields omits the rest", () => {
  const job = create(JobSchema, {
    id: "17",
    spec: { name: "x", group: "default", command: ["x"] },
    state: stateOf("pending"),
    taskTotal: 1n,
    tasks: { pending: 1n },
    submittedAtMs: 5n,
    revision: 9n,
  });
  expect(toJobRow(job)).toEqual({
    id: "17",
    spec: { name: "x", group: "default", command: ["x"] },
    state: "pending",
    tasks: { ...noTasks, pending: 1 },
    taskTotal: 1,
    submittedAtMs: 5,
    submittedBy: "",
    revision: 9,
  });
});

test("a job with all fields keeps all, as plain numbers", () => {
  const spec = {
    name: "x",
    group: "g",
    labels: { a: "b" },
    script: "true",
    env: { A: "1" },
    cwd: "/",
    resources: { cpu: 0.5, memory: 4_294_967_296 },
    placement: { cluster: "c", node: "n", labels: { d: "e" } },
    array: "0-1",
    priority: -1,
  };
  const job = create(JobSchema, {
    id: "17",
    spec: {
      ...spec,
      retries: { max: 2, backoffMs: 1n, backoffMaxMs: 2n },
      timeLimitMs: 3n,
      killGraceMs: 4n,
      queueDeadlineMs: 5n,
      outputLimitBytes: 6n,
      dependsOn: [
        { kind: "afterok", on: ["a"], atLeast: 1 },
        { kind: "singleton", name: "n" },
      ],
      request: '[[{"type":"node"}]]',
      select: {
        strategy: "cheapest",
        options: '{"key":"cost"}',
        parameters: { n: { value: { case: "number", value: 4 } } },
      },
    },
    state: stateOf("failed"),
    tasks: {},
    taskTotal: 2n,
    submittedAtMs: 1n,
    startedAtMs: 2n,
    endedAtMs: 3n,
    submittedBy: "ada",
    idempotencyKey: "k",
    reason: "why",
    exitCode: 0,
    revision: 10n,
  });
  const row = toJobRow(job);
  expect(row).toEqual({
    id: "17",
    spec: {
      ...spec,
      retries: { max: 2, backoffMs: 1, backoffMaxMs: 2 },
      timeLimitMs: 3,
      killGraceMs: 4,
      queueDeadlineMs: 5,
      outputLimitBytes: 6,
      dependsOn: [
        { kind: "afterok", on: ["a"], atLeast: 1 },
        { kind: "singleton", name: "n" },
      ],
      request: [[{ type: "node" }]],
      select: { strategy: "cheapest", options: { key: "cost" }, parameters: { n: 4 } },
    },
    state: "failed",
    tasks: noTasks,
    taskTotal: 2,
    submittedAtMs: 1,
    startedAtMs: 2,
    endedAtMs: 3,
    submittedBy: "ada",
    idempotencyKey: "k",
    reason: "why",
    exitCode: 0,
    revision: 10,
  });
  expect(() => JSON.stringify(row)).not.toThrow(); // no bigint slipped through
});

test("a task has the exit code that the server sends, and none when it sends none", () => {
  const lost = { attempt: 1, startedAtMs: 1n, endedAtMs: 2n, reason: "lost: node b4 was lost" };
  const row = (exitCode?: number) =>
    toTaskRow(
      create(TaskSchema, {
        state: stateOf("failed"),
        attempt: 2,
        past: [lost],
        ...(exitCode === undefined ? {} : { exitCode }),
      }),
    );
  expect(row()).not.toHaveProperty("exitCode");
  expect(row(0).exitCode).toBe(0);
  expect(row(3).exitCode).toBe(3);
  expect(row(3).past?.[0]).not.toHaveProperty("exitCode");
});

test("a job has the exit code of the wire, or none", () => {
  const row = (exitCode?: number) =>
    toJobRow(
      create(JobSchema, {
        state: stateOf("failed"),
        ...(exitCode === undefined ? {} : { exitCode }),
      }),
    );
  expect(row(3).exitCode).toBe(3);
  expect(row(0).exitCode).toBe(0);
  expect(row()).not.toHaveProperty("exitCode");
});

test("earlier attempts keep their ends", () => {
  const past = [{ attempt: 1, node: "a", startedAtMs: 1n, endedAtMs: 2n, exitCode: 3 }];
  expect(toTaskRow(create(TaskSchema, { past })).past).toEqual([
    { attempt: 1, node: "a", startedAtMs: 1, endedAtMs: 2, exitCode: 3, reason: "" },
  ]);
});

test("a state of a newer server is shown as unknown, not as an error", () => {
  expect(toJobRow(create(JobSchema, { state: 99 as never })).state).toBe("unknown");
});

test("nodes, groups and stats are plain values", () => {
  const node = create(NodeSchema, { name: "a", capacity: { cpu: 2 }, connectedAtMs: 7n });
  expect(toNodeRow(node)).toEqual({
    name: "a",
    cluster: "",
    state: "",
    capacity: { cpu: 2 },
    used: {},
    labels: {},
    tasks: 0,
    held: 0,
    isClusterAgent: false,
    agentVersion: "",
    connectedAtMs: 7,
    revision: 0,
  });
  const facts = { cores: 2, software: { os: [{ name: "ownos" }] } };
  const known = create(NodeSchema, { name: "a", facts: JSON.stringify(facts) });
  expect(toNodeRow(known).facts).toEqual(facts);
  const group = create(GroupSchema, { name: "g", weight: 0.5, runningTasksMax: 3n });
  expect(toGroupRow(group)).toMatchObject({ name: "g", weight: 0.5, runningTasksMax: 3 });
  expect(toGroupRow(group)).not.toHaveProperty("queuedTasksMax");
  const stats = toStatsRow(create(StatsSchema, { jobs: { running: 4n }, uptimeMs: 5n }));
  expect(JSON.parse(JSON.stringify(stats))).toMatchObject({ jobs: { running: 4 }, uptimeMs: 5 });
});

test("an event names its subject; one of an unknown kind is omitted", () => {
  const event = create(WatchEventSchema, {
    revision: 3n,
    event: { case: "removed", value: { kind: "node", id: "a" } },
  });
  expect(toEventRow(event)).toEqual({
    revision: 3,
    removed: { kind: "node", id: "a" },
  });
  expect(toEventRow(create(WatchEventSchema, { revision: 3n }))).toBeUndefined();
});

test("a request that is not JSON stays unchanged", () => {
  const job = create(JobSchema, { spec: { request: "node 4" } });
  expect(toJobRow(job).spec.request).toBe("node 4");
});
