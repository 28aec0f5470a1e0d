import { describe, expect, test } from "vitest";
import { aSpec } from "../../testing/builders.ts";
import { clusterId, jobId, nodeId } from "../../core/model/ids.ts";
import type { Job } from "../../core/model/job/job.ts";
import type { PastAttempt, Task, TaskState } from "../../core/model/job/task.ts";
import type { Histogram } from "../../lib/histogram.ts";
import { limits } from "../../limits.ts";
import { TaskTimes } from "./task-times.ts";

const on = { nodeId: nodeId("n1") };
const blue = { cluster: clusterId("blue") };
const failure = { kind: "exited", exitCode: 1 } as const;

const aJob = (group = "g"): Job => ({
  id: jobId(1),
  spec: aSpec({ group }),
  submittedAtMs: 1_000,
  submittedBy: "test",
  idempotencyKey: undefined,
  closed: undefined,
  waitsFor: undefined,
});

const aTask = (state: TaskState, past: readonly PastAttempt[] = []): Task => ({
  jobId: jobId(1),
  index: 0,
  attempt: past.length + 1,
  state,
  failures: 0,
  losses: 0,
  past,
});

const aTimes = () => new TaskTimes((id) => (id === "n1" ? clusterId("red") : undefined));

/** The count and the sum of the recorded times. */
const shown = ({ counts, sumMs }: Histogram): string | undefined => {
  const count = counts.reduce((sum, each) => sum + each, 0);
  return count === 0 ? undefined : `${count}: ${sumMs}`;
};

/** The histograms of each series that are not empty. */
const told = (times: TaskTimes): object =>
  Object.fromEntries(
    [...times.series()].map(({ group, cluster, queueWait, startLatency, runTime }) => [
      `${group} ${cluster}`,
      { wait: shown(queueWait), start: shown(startLatency), run: shown(runTime) },
    ]),
  );

const assigned: TaskState = { kind: "assigned", ...on, assignedAtMs: 1_400 };
const running: TaskState = { kind: "running", ...on, assignedAtMs: 1_400, startedAtMs: 1_410 };
const held: TaskState = { kind: "held", ...on, heldAtMs: 1_100 };
const offered: TaskState = { kind: "offered", ...blue, offeredAtMs: 1_100 };
const accepted: TaskState = {
  kind: "accepted",
  ...blue,
  acceptedAtMs: 1_700,
  startedAtMs: undefined,
  heardAtMs: 1_700,
};
const ended = { startedAtMs: 1_410, endedAtMs: 3_410 };
const succeeded: TaskState = { kind: "succeeded", ...on, ...ended };
const cancelled = (startedAtMs: number | undefined): TaskState => ({
  kind: "cancelled",
  ...on,
  startedAtMs,
  endedAtMs: 3_410,
  reason: "",
});
const waiting: TaskState = { kind: "waiting", notBeforeMs: 5_000 };
const stopping = (startedAtMs: number | undefined): TaskState => ({
  kind: "stopping",
  ...on,
  assignedAtMs: 1_400,
  startedAtMs,
  reason: "",
});
const past: readonly PastAttempt[] = [{ attempt: 1, ...on, ...ended, failure }];

const rows: readonly {
  readonly name: string;
  readonly states: readonly (TaskState | readonly [TaskState, readonly PastAttempt[]])[];
  readonly want: object;
}[] = [
  {
    name: "assigned, started, ended: one of each",
    states: [assigned, running, succeeded],
    want: { "g red": { wait: "1: 400", start: "1: 10", run: "1: 2000" } },
  },
  {
    name: "the end alone tells the start too",
    states: [assigned, succeeded],
    want: { "g red": { wait: "1: 400", start: "1: 10", run: "1: 2000" } },
  },
  {
    name: "held, then begun by its agent: it waited until then, and no start was sent",
    states: [held, running, succeeded],
    want: { "g red": { wait: "1: 400", run: "1: 2000" } },
  },
  {
    name: "held, begun and ended in one report: it waited until its start",
    states: [held, succeeded],
    want: { "g red": { wait: "1: 410", run: "1: 2000" } },
  },
  {
    name: "accepted by a pull cluster: it waited until then",
    states: [offered, accepted, { kind: "succeeded", nodeId: undefined, ...blue, ...ended }],
    want: { "g blue": { wait: "1: 700", run: "1: 2000" } },
  },
  {
    name: "cancelled before it started: it waited, and never ran",
    states: [assigned, stopping(undefined), cancelled(undefined)],
    want: { "g red": { wait: "1: 400" } },
  },
  {
    name: "cancelled while it ran: it ran so long",
    states: [assigned, running, stopping(1_410), cancelled(1_410)],
    want: { "g red": { wait: "1: 400", start: "1: 10", run: "1: 2000" } },
  },
  { name: "cancelled while it is queued: nothing", states: [cancelled(undefined)], want: {} },
  {
    name: "another attempt waits from the end of the one before",
    states: [
      assigned,
      running,
      [waiting, past],
      [{ kind: "assigned", ...on, assignedAtMs: 5_410 }, past],
    ],
    want: { "g red": { wait: "2: 2400", start: "1: 10", run: "1: 2000" } },
  },
  {
    name: "an attempt whose start and failure come together counts both",
    states: [assigned, [waiting, past]],
    want: { "g red": { wait: "1: 400", start: "1: 10", run: "1: 2000" } },
  },
];

describe("times of tasks", () => {
  test.each(rows)("$name", ({ states, want }) => {
    const times = aTimes();
    let before: Task | undefined;
    for (const each of states) {
      const after = "kind" in each ? aTask(each, before?.past) : aTask(...each);
      times.moved(aJob(), before, after);
      before = after;
    }
    expect(told(times)).toEqual(want);
  });

  test("the first pairs have a series each, all others share one", () => {
    const times = aTimes();
    for (let at = 0; at < limits.metricSeriesMax + 7; at++)
      times.moved(aJob(`g${at}`), undefined, aTask(assigned));
    times.moved(aJob("g3"), undefined, aTask(assigned));
    const all = told(times) as Record<string, object>;
    expect(Object.keys(all)).toHaveLength(limits.metricSeriesMax + 1);
    expect(all["g3 red"]).toMatchObject({ wait: "2: 800" });
    expect(all["(other) (other)"]).toMatchObject({ wait: "7: 2800" });
  });

  test("below the limit nothing is shared", () => {
    const times = aTimes();
    times.moved(aJob(), undefined, aTask(assigned));
    expect(Object.keys(told(times))).toEqual(["g red"]);
  });
});
