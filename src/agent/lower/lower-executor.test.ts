import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { toSteps } from "../../core/jobspec/write/to-steps.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Executor, RunId, RunRequest } from "../../ports/executor.ts";
import type { Logger } from "../../ports/logger.ts";
import { identityOf, readBootId } from "../proc.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { createLowerExecutor } from "./lower-executor.ts";
import { away, FakeScheduler } from "./testing/fake-scheduler.ts";
import { silentLogger } from "../../testing/silent-logger.ts";

let directory: string;
let clock: FakeClock;
let scheduler: FakeScheduler;
let executor: Executor;
let reports: string[];
let log: string[];

const logger: Logger = {
  ...silentLogger,
  info: (_, message) => log.push(`info: ${message}`),
  warn: (_, message) => log.push(`warn: ${message}`),
  error: (_, message) => log.push(`error: ${message}`),
};

async function open(): Promise<void> {
  executor = await createLowerExecutor({ directory, scheduler, toSteps, clock, logger });
  executor.onReport((id, report) => {
    const what = report.kind === "running" ? "" : ` ${JSON.stringify(report.end)}`;
    reports.push(`${id.jobId}.${id.index} ${report.kind}${what}`);
  });
}

/** As kill -9 would leave it: another life over the same directory. */
async function reopen(): Promise<void> {
  await executor.close();
  reports = [];
  await open();
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "busbar-lower-"));
  clock = new FakeClock();
  scheduler = new FakeScheduler();
  reports = [];
  log = [];
  await open();
});
afterEach(async () => {
  await executor.close();
  expect(clock.timers).toBe(0);
  rmSync(directory, { recursive: true, force: true });
});

const run = (jobId: number, index = 0): RunId => ({ jobId, index, attempt: 1 });
function start(id: RunId, over: Partial<RunRequest> = {}): void {
  executor.start({
    id,
    name: "job",
    work: { kind: "command", argv: ["true"] },
    env: {},
    cwd: undefined,
    arrayIndex: undefined,
    request: undefined,
    needs: {},
    timeLimitMs: undefined,
    killGraceMs: 2_000,
    outputLimitBytes: 1_000,
    ...over,
  });
}
/** Long enough for a round. */
const aRound = (): Promise<void> => clock.pass(limits.lowerPollMsMin + limits.lowerGatherMs);
const leave = (key: string, name: string, text: string): void => {
  mkdirSync(join(directory, "runs", key), { recursive: true });
  writeFileSync(join(directory, "runs", key, name), text);
};
const JOBSPEC = `version: 1
resources: {one: {type: core, count: 1}}
tasks:
  - {name: a, command: ["true"], resources: one}
  - {name: b, command: ["true"], resources: one, replicas: 2, depends_on: [a]}
  - {name: c, command: ["true"], resources: one, depends_on: [b]}
`;
const startJobspec = (id: RunId): void => start(id, { work: { kind: "jobspec", text: JOBSPEC } });

describe("submission", () => {
  test("starts of one array that come together are one job, others are their own", async () => {
    for (const index of [4, 2, 3]) start(run(1, index), { arrayIndex: index });
    start(run(2));
    start(run(3, 0), { arrayIndex: 0, needs: { cpu: 2_000 } });
    await aRound();
    expect(scheduler.submitted.map(({ indexes }) => indexes)).toEqual([
      [2, 3, 4],
      undefined,
      undefined,
    ]);
    expect(scheduler.submitted.map(({ marker }) => marker.split(":")[2])).toEqual([
      "1.2.1",
      "2.0.1",
      "3.0.1",
    ]);
    expect(executor.queued().length).toBe(5);
    expect(executor.known()).toEqual([]);
  });

  test("indexes beyond what schedulers count to are their places", async () => {
    for (const index of [5_000, 6_000]) start(run(1, index), { arrayIndex: index });
    await aRound();
    expect(scheduler.submitted[0]?.indexes).toEqual([0, 1]);
    scheduler.end("1_1", { kind: "exited", exitCode: 4 });
    await aRound();
    expect(reports).toEqual(
      ["1.6000 running", '1.6000 ended {"kind":"exited","exitCode":4}'].slice(-reports.length),
    );
  });

  test("an array of more than the scheduler takes is submitted one by one", async () => {
    scheduler.trouble = (call) => {
      if (call === "submit" && scheduler.calls.length === 1) {
        return new AppError("exhausted", "Invalid job array specification");
      }
      return undefined;
    };
    for (const index of [0, 1]) start(run(1, index), { arrayIndex: index });
    await aRound();
    await aRound();
    expect(scheduler.submitted.map(({ indexes }) => indexes)).toEqual([undefined, undefined]);
  });

  test("what is refused ends with the reason", async () => {
    scheduler.trouble = (call) =>
      call === "submit" ? new AppError("invalid_argument", "no such partition") : undefined;
    start(run(1));
    await aRound();
    expect(reports).toEqual(['1.0 ended {"kind":"could-not-start","message":"no such partition"}']);
  });

  for (const isTaken of [true, false]) {
    test(`without an answer the scheduler is asked what it has, taken: ${isTaken}`, async () => {
      scheduler.trouble = (call) => (call === "submit" ? away() : undefined);
      scheduler.takesInTrouble = isTaken;
      start(run(1));
      await aRound();
      scheduler.trouble = undefined;
      await clock.pass(limits.lowerSettleMs + limits.lowerRetryMsMin + 1_000);
      expect(scheduler.calls).toContain("find");
      expect(scheduler.submitted.length).toBe(1);
      scheduler.end("1");
      await clock.pass(2_000);
      expect(reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":0}');
    });
  }

  test("of an array that was taken in part only the rest is submitted again", async () => {
    scheduler.trouble = (call) => (call === "submit" ? away() : undefined);
    scheduler.takesInTrouble = true;
    scheduler.dropped.add(1).add(2);
    for (const index of [0, 1, 2]) start(run(1, index), { arrayIndex: index });
    await aRound();
    scheduler.trouble = undefined;
    scheduler.dropped.clear();
    await clock.pass(limits.lowerSettleMs + 2_000);
    expect(scheduler.submitted.map(({ indexes }) => indexes)).toEqual([
      [0, 1, 2],
      [1, 2],
    ]);
    for (const id of ["1_0", "2_1", "2_2"]) scheduler.end(id);
    await clock.pass(2_000);
    expect(executor.known().map(({ report }) => report.kind)).toEqual(["ended", "ended", "ended"]);
  });

  test("another life finds what the last one submitted, and submits what it had only meant to", async () => {
    scheduler.trouble = (call) => (call === "submit" ? away() : undefined);
    scheduler.takesInTrouble = true;
    start(run(1));
    await aRound();
    scheduler.trouble = undefined;
    await reopen();
    start(run(1)); // the server asks again
    start(run(2));
    expect(executor.queued()).toEqual([run(1), run(2)]);
    await clock.pass(limits.lowerSettleMs + 1_000);
    expect(scheduler.submitted.map(({ marker }) => marker.split(":")[2])).toEqual([
      "1.0.1",
      "2.0.1",
    ]);
  });

  test("what ended before anybody could look is found by what it left", async () => {
    scheduler.trouble = (call) => (call === "submit" ? away() : undefined);
    start(run(1));
    await aRound();
    scheduler.trouble = undefined;
    await executor.close();
    leave("1.0.1", "claim", "77\n");
    leave("1.0.1", "exit", "77\nexit 5\nend\n");
    await open();
    await clock.pass(limits.lowerSettleMs + 1_000);
    expect(scheduler.submitted).toEqual([]);
    expect(reports).toEqual(['1.0 ended {"kind":"exited","exitCode":5}']);
  });
});

describe("a scheduler that is away", () => {
  test("ends nothing, is asked ever more rarely, and is told once", async () => {
    start(run(1));
    await aRound();
    scheduler.run("1");
    await aRound();
    scheduler.trouble = away;
    scheduler.calls.length = 0;
    await clock.pass(10 * 60_000);
    expect(scheduler.calls.length).toBeLessThan(20);
    expect(scheduler.calls.length).toBeGreaterThan(9);
    expect(reports).toEqual(["1.0 running"]);
    scheduler.trouble = undefined;
    scheduler.end("1");
    await clock.pass(limits.lowerRetryMsMax);
    expect(reports).toEqual(["1.0 running", '1.0 ended {"kind":"exited","exitCode":0}']);
    expect(log).toEqual([
      "warn: fake cannot be asked; trying until that changes",
      "info: no longer: fake cannot be asked",
    ]);
  });

  test("one that takes no jobs is still asked how others do", async () => {
    start(run(1));
    await aRound();
    scheduler.trouble = (call) => (call === "submit" ? away() : undefined);
    start(run(2));
    await aRound();
    scheduler.end("1");
    await clock.pass(1_000);
    expect(reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":0}');
    expect(log).toEqual(["warn: fake takes no jobs; trying until that changes"]);
  });
});

describe("jobs of which the scheduler has no record", () => {
  test("are lost after a while, not before", async () => {
    start(run(1));
    await aRound();
    scheduler.run("1");
    await aRound();
    scheduler.states.delete("1");
    await clock.pass(limits.lowerMissingMsMax - 1_000);
    expect(reports).toEqual(["1.0 running"]);
    await clock.pass(limits.lowerPollMsMax + 1_000);
    expect(reports.at(-1)).toBe(
      '1.0 ended {"kind":"vanished","message":"fake has no record of job 1 any more, and it left no exit code"}',
    );
  });

  test("that come back go on", async () => {
    start(run(1));
    await aRound();
    scheduler.states.delete("1");
    await clock.pass(limits.lowerMissingMsMax - 5_000);
    scheduler.run("1");
    await clock.pass(limits.lowerMissingMsMax);
    scheduler.states.delete("1");
    await clock.pass(limits.lowerMissingMsMax - 5_000);
    expect(reports).toEqual(["1.0 running"]);
  });

  test("are told by the exit code that they left", async () => {
    start(run(1));
    await aRound();
    scheduler.states.delete("1");
    leave("1.0.1", "exit", "1\nKilled\nexit 137\nend\n");
    await clock.pass(2_000);
    expect(reports).toEqual(['1.0 ended {"kind":"signalled","signal":"SIGKILL"}']);
  });
});

test("links to the tasks of an array stay until the last of its job has ended", async () => {
  for (const index of [0, 1]) start(run(1, index), { arrayIndex: index });
  await aRound();
  const arrays = (): string[] => readdirSync(join(directory, "arrays"));
  scheduler.end("1_0");
  await aRound();
  executor.forget(run(1, 0));
  expect(arrays()).toEqual(["1.0.1"]);
  await reopen();
  scheduler.end("1_1");
  await aRound();
  executor.forget(run(1, 1));
  expect(arrays()).toEqual([]);
});

test("why runs wait is told in the scheduler's words, those alike together", async () => {
  start(run(1));
  expect(executor.whyQueued?.()).toEqual([
    { reason: "fake: it is being submitted", runs: [run(1)] },
  ]);
  for (const id of [2, 3]) start(run(id));
  await aRound();
  scheduler.states.set("1", { kind: "queued", reason: "Priority" });
  scheduler.states.set("2", { kind: "queued", reason: "Resources" });
  scheduler.states.set("3", { kind: "queued", reason: "Priority" });
  await aRound();
  expect(executor.whyQueued?.()).toEqual([
    { reason: "fake: Priority", runs: [run(1), run(3)] },
    { reason: "fake: Resources", runs: [run(2)] },
  ]);
  for (const id of ["1", "2", "3"]) scheduler.run(id);
  await clock.pass(2_000);
  expect(executor.whyQueued?.()).toEqual([]);
});

test("a second job for a run that another has claimed is not the one that counts", async () => {
  start(run(1));
  await aRound();
  leave("1.0.1", "claim", "55\n");
  scheduler.run("55");
  scheduler.end("1");
  await clock.pass(2_000);
  expect(reports).toEqual(["1.0 running"]);
  scheduler.end("55", { kind: "exited", exitCode: 3 });
  await clock.pass(2_000);
  expect(reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":3}');
});

describe("a job that the scheduler has forgotten", () => {
  const here = (): string => {
    const { startTicks = "" } = identityOf(process.pid) ?? {};
    const place = ["host", readBootId(), readlinkSync("/proc/self/ns/pid")];
    return [...place, process.pid, startTicks, "end", ""].join("\n");
  };
  const beginAndForget = async (runner: string): Promise<void> => {
    start(run(1));
    await aRound();
    scheduler.run("1");
    await aRound();
    leave("1.0.1", "claim", "1\n");
    leave("1.0.1", "runner", runner);
    scheduler.states.delete("1");
    await clock.pass(3 * limits.lowerMissingMsMax);
  };

  test("runs as long as its processes do, and ends as they did", async () => {
    await beginAndForget(here());
    expect(reports).toEqual(["1.0 running"]);
    expect(log).toEqual(["warn: fake has no record of a job that still runs; awaiting its end"]);
    leave("1.0.1", "exit", "1\nexit 5\nend\n");
    await clock.pass(limits.lowerPollMsMax);
    expect(reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":5}');
  });

  test("is stopped through its wrapper, and not told before that has ended", async () => {
    await beginAndForget(here());
    executor.stop(run(1));
    await clock.pass(3 * limits.lowerMissingMsMax);
    expect(reports).toEqual(["1.0 running"]);
    const order = readFileSync(join(directory, "runs/1.0.1/control"), "utf8");
    expect(order).toMatch(/^stop \d+ end\n$/);
    leave("1.0.1", "exit", "1\nKilled\nexit 137\nend\n");
    await clock.pass(limits.lowerPollMsMax);
    expect(reports.at(-1)).toBe('1.0 ended {"kind":"stopped","signal":"SIGKILL"}');
  });

  test("is lost when its wrapper is gone, here or on a machine that is silent", async () => {
    await beginAndForget(here().replace(`\n${process.pid}\n`, "\n4194304\n"));
    expect(reports.at(-1)).toContain('"vanished"');
  });

  test("is not mixed up with a later job that was given its id", async () => {
    await beginAndForget(here());
    scheduler.nextId = 1;
    start(run(2));
    await aRound();
    scheduler.end("1", { kind: "exited", exitCode: 9 });
    await aRound();
    expect(reports.slice(1)).toEqual(['2.0 ended {"kind":"exited","exitCode":9}']);
    leave("1.0.1", "exit", "1\nexit 5\nend\n");
    await clock.pass(limits.lowerPollMsMax);
    expect(reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":5}');
  });
});

describe("stopping", () => {
  test("asks, kills after the grace period, and goes on asking", async () => {
    start(run(1));
    await aRound();
    scheduler.run("1");
    await aRound();
    executor.stop(run(1));
    await clock.pass(1);
    expect(scheduler.cancelled).toEqual([["1", "ask"]]);
    await clock.pass(2_000 + limits.lowerCancelRepeatMs + limits.lowerPollMsMax);
    expect(scheduler.cancelled.slice(0, 3)).toEqual([
      ["1", "ask"],
      ["1", "kill"],
      ["1", "kill"],
    ]);
    scheduler.end("1", { kind: "cancelled" });
    await clock.pass(limits.lowerPollMsMax);
    expect(reports.at(-1)).toBe('1.0 ended {"kind":"stopped","signal":"SIGTERM"}');
  });

  test("what was not submitted yet never is, and can no longer be claimed", async () => {
    start(run(1));
    executor.stop(run(1));
    await aRound();
    expect(scheduler.submitted).toEqual([]);
    expect(reports).toEqual(['1.0 ended {"kind":"stopped"}']);
    expect(readFileSync(join(directory, "runs/1.0.1/claim"), "utf8")).toBe("stopped\n");
  });

  test("is not forgotten by the next life", async () => {
    start(run(1));
    await aRound();
    executor.stop(run(1));
    await reopen();
    await aRound();
    expect(scheduler.cancelled).toEqual([["1", "ask"]]);
  });

  test("of what has ended by itself does nothing", async () => {
    start(run(1));
    await aRound();
    leave("1.0.1", "exit", "1\nexit 0\nend\n");
    executor.stop(run(1));
    scheduler.end("1");
    await aRound();
    expect(reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":0}');
    expect(scheduler.cancelled).toEqual([]);
  });

  test("a time limit is minded to the second", async () => {
    const nowMs = clock.nowMs();
    start(run(1), { timeLimitMs: 5_000 });
    await aRound();
    scheduler.run("1", nowMs);
    await clock.pass(4_000);
    expect(scheduler.cancelled).toEqual([]);
    await clock.pass(3_000);
    expect(scheduler.cancelled).toEqual([["1", "ask"]]);
    scheduler.end("1", { kind: "cancelled" });
    await clock.pass(limits.lowerPollMsMax);
    expect(reports.at(-1)).toBe('1.0 ended {"kind":"time-limit","signal":"SIGTERM"}');
  });
});

describe("a jobspec", () => {
  test("is a job for each task, after the ids of those it depends on", async () => {
    startJobspec(run(1));
    await clock.pass(2_000);
    expect(
      scheduler.submitted.map(({ name, indexes, after }) => ({ name, indexes, after })),
    ).toEqual([
      { name: "job/a", indexes: undefined, after: [] },
      { name: "job/b", indexes: [0, 1], after: ["1"] },
      { name: "job/c", indexes: undefined, after: ["2_0", "2_1"] },
    ]);
    scheduler.run("1");
    await clock.pass(1_000);
    for (const id of ["1", "2_0", "2_1", "3"]) scheduler.end(id);
    await clock.pass(2_000);
    expect(reports).toEqual(["1.0 running", '1.0 ended {"kind":"exited","exitCode":0}']);
  });

  test("ends as the first of its tasks that failed; what is skipped is cancelled", async () => {
    startJobspec(run(1));
    await clock.pass(2_000);
    const skipped = { kind: "skipped", message: "" } as const;
    scheduler.end("1");
    scheduler.end("2_0", { kind: "exited", exitCode: 8 }, 4_000);
    scheduler.end("2_1", { kind: "exited", exitCode: 9 }, 3_000);
    scheduler.end("3", skipped);
    await clock.pass(2_000);
    expect(reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":9}');
    expect(scheduler.cancelled).toEqual([["3", "ask"]]);
  });

  test("whose first task has failed while nobody looked is not submitted further", async () => {
    scheduler.trouble = (call) =>
      call === "submit" && scheduler.submitted.length === 1 ? away() : undefined;
    startJobspec(run(1));
    await aRound();
    expect(scheduler.submitted.length).toBe(1);
    scheduler.end("1", { kind: "exited", exitCode: 2 });
    await reopen();
    scheduler.trouble = undefined;
    await clock.pass(limits.lowerSettleMs + 2_000);
    expect(scheduler.submitted.length).toBe(1);
    expect(reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":2}');
  });

  test("a step that is rejected with its dependencies is submitted without them when they succeed", async () => {
    scheduler.trouble = (call) =>
      call === "submit" && scheduler.submitted.length === 1
        ? new AppError("invalid_argument", "afterok: job 1 failed or was canceled")
        : undefined;
    startJobspec(run(1));
    await clock.pass(2_000);
    expect(scheduler.submitted.length).toBe(1);
    const rejections = scheduler.calls.filter((call) => call === "submit").length;
    await clock.pass(20_000);
    expect(scheduler.calls.filter((call) => call === "submit").length).toBe(rejections);
    scheduler.trouble = undefined;
    scheduler.end("1");
    await clock.pass(2_000);
    expect(scheduler.submitted.map(({ name, after }) => [name, after])).toEqual([
      ["job/a", []],
      ["job/b", []],
      ["job/c", ["2_0", "2_1"]],
    ]);
  });

  test("does not go on after a task of which the scheduler has no record", async () => {
    scheduler.trouble = (call) =>
      call === "submit" && scheduler.submitted.length === 1 ? away() : undefined;
    startJobspec(run(1));
    await aRound();
    scheduler.states.delete("1");
    await reopen();
    scheduler.trouble = undefined;
    await clock.pass(limits.lowerSettleMs + limits.lowerMissingMsMax + limits.lowerPollMsMax);
    expect(scheduler.submitted.length).toBe(1);
    expect(reports.at(-1)).toContain("vanished");
  });

  test("what could never begin is skipped, also when the record only says cancelled", async () => {
    startJobspec(run(1));
    await clock.pass(2_000);
    scheduler.end("1", { kind: "exited", exitCode: 4 }, 5_000);
    for (const id of ["2_0", "2_1", "3"]) {
      const end = { kind: "cancelled" } as const;
      scheduler.states.set(id, { kind: "ended", startedAtMs: undefined, endedAtMs: 4_000, end });
    }
    await clock.pass(2_000);
    expect(reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":4}');
  });

  test("that cannot be read could not start", async () => {
    start(run(1), { work: { kind: "jobspec", text: "version: 2" } });
    await aRound();
    expect(reports[0]).toContain("could-not-start");
  });
});

test("what nobody waits for is asked rarely, what changes often", async () => {
  start(run(1));
  await aRound();
  scheduler.calls.length = 0;
  await clock.pass(2_000);
  expect(scheduler.calls.length).toBeGreaterThan(4);
  await clock.pass(10 * 60_000);
  scheduler.calls.length = 0;
  await clock.pass(60_000);
  expect(scheduler.calls.length).toBeLessThanOrEqual(7);
});

test("an idle executor asks nothing and has no timer but for outputs that get old", async () => {
  await clock.pass(60_000);
  expect(scheduler.calls).toEqual([]);
  expect(clock.timers).toBe(0);
  start(run(1));
  await aRound();
  scheduler.end("1");
  await aRound();
  executor.forget(run(1));
  await clock.pass(limits.outputKeptMsMax + 3_600_000);
  const how = { offset: 0, maxBytes: 1, waitMs: 0 };
  await expect(executor.readOutput(run(1), "stdout", how)).rejects.toMatchObject({
    code: "not_found",
  });
});
