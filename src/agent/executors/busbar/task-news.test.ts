import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { State, TaskSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import { toReason } from "./run-looks.ts";
import { newsOf } from "./task-news.ts";

type Fields = NonNullable<Parameters<typeof create<typeof TaskSchema>>[1]>;
const news = (fields: Fields, isStopped = false) =>
  newsOf(create(TaskSchema, fields), { site: "a", isStopped });
const ended = (fields: Fields, isStopped?: boolean) => {
  const told = news({ startedAtMs: 1n, endedAtMs: 2n, ...fields }, isStopped);
  return told.kind === "ended" ? told.end : told.kind;
};
const FAILED = State.FAILED;

test.each([
  State.PENDING,
  State.WAITING,
  State.ASSIGNED,
  State.OFFERED,
  State.ACCEPTED,
  State.HELD,
])("state %s is queued", (state) => expect(news({ state })).toEqual({ kind: "queued" }));

test("a running task has a start, also while it is being cancelled", () => {
  const running = { kind: "running", startedAtMs: 7, progress: undefined };
  expect(news({ state: State.RUNNING, startedAtMs: 7n })).toEqual(running);
  expect(news({ state: State.STOPPING, startedAtMs: 7n })).toEqual(running);
  expect(news({ state: State.STOPPING })).toEqual({ kind: "queued" });
});

test.each([
  [{ state: State.SUCCEEDED }, { kind: "exited", exitCode: 0 }],
  [
    { state: FAILED, failure: "exited", exitCode: 3 },
    { kind: "exited", exitCode: 3 },
  ],
  [
    { state: FAILED, failure: "signalled", signal: "SIGKILL", reason: "killed by SIGKILL" },
    { kind: "signalled", signal: "SIGKILL" },
  ],
  [
    { state: FAILED, failure: "signalled", signal: "SIGTERM", reason: "killed by SIGTERM: by me" },
    { kind: "signalled", signal: "SIGTERM", message: "by me" },
  ],
  [{ state: FAILED, failure: "time-limit", exitCode: 124 }, { kind: "time-limit" }],
  [{ state: FAILED, failure: "out-of-memory", signal: "SIGKILL" }, { kind: "out-of-memory" }],
  [
    { state: FAILED, failure: "could-not-start", reason: "could not start: no /x", exitCode: 127 },
    { kind: "could-not-start", message: "no /x" },
  ],
  [
    { state: FAILED, failure: "lost", reason: "lost: n" },
    { kind: "vanished", message: "lost: n" },
  ],
  [
    { state: FAILED, exitCode: 4 },
    { kind: "exited", exitCode: 4 },
  ],
  [
    { state: FAILED, signal: "SIGHUP" },
    { kind: "signalled", signal: "SIGHUP" },
  ],
  [
    { state: FAILED, reason: "gone" },
    { kind: "vanished", message: "gone" },
  ],
] as const)("%o ends as %o", (fields, end) => expect(ended(fields)).toEqual(end));

test("a cancelled task was stopped from above, or by a user of the site", () => {
  const fields = { state: State.CANCELLED, reason: "maintenance" };
  expect(ended(fields, true)).toEqual({ kind: "stopped", signal: undefined });
  const message = "cancelled at site a: maintenance";
  expect(ended(fields)).toEqual({ kind: "signalled", signal: "SIGTERM", message });
  const unstarted = news(fields);
  expect(unstarted).toMatchObject({ end: { kind: "could-not-start", message } });
});

test("progress is reported while it runs, and the last progress with its end", () => {
  const progress = { percent: 40.5, message: "step 3" };
  for (const state of [State.RUNNING, State.SUCCEEDED]) {
    expect(news({ state, startedAtMs: 1n, progress })).toMatchObject({ progress });
  }
});

test("usage is reported in the agent's units", () => {
  const usage = { cpuMs: 1.5, wallMs: 2.5, maxRssBytes: 2_048n, majorFaults: 1n };
  expect(news({ state: State.SUCCEEDED, usage })).toMatchObject({
    usage: { cpuUs: 1_500, wallUs: 2_500, maxRssKib: 2, majorFaults: 1 },
  });
});

test("the reason why a job is queued is one line without the count of its tasks", () => {
  const summary = "1 task waits: 2 nodes could run it later";
  expect(toReason({ summary, reasons: [] })).toBe("2 nodes could run it later");
  const reason = { $typeName: "busbar.v1.NodeReason" as const, never: false, examples: [] };
  expect(toReason({ summary, reasons: [{ ...reason, reason: "busy", nodes: 2 }] })).toBe(
    "2 nodes could run it later (2 nodes: busy)",
  );
  expect(toReason({ summary: "1 task waits in busbar: x", reasons: [] })).toBe("busbar: x");
});
