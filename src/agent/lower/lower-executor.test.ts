import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { away } from "./testing/fake-scheduler.ts";
import { run, useLowerBed } from "./testing/lower-bed.ts";

const bed = useLowerBed();

describe("submission", () => {
  test("starts of one array that arrive together are one job, others are separate", async () => {
    for (const index of [4, 2, 3]) bed.start(run(1, index), { arrayIndex: index });
    bed.start(run(2));
    bed.start(run(3, 0), { arrayIndex: 0, needs: { cpu: 2_000 } });
    await bed.aRound();
    expect(bed.scheduler.submitted.map(({ indexes }) => indexes)).toEqual([
      [2, 3, 4],
      undefined,
      undefined,
    ]);
    expect(bed.scheduler.submitted.map(({ marker }) => marker.split(":")[2])).toEqual([
      "1.2.1",
      "2.0.1",
      "3.0.1",
    ]);
    expect(bed.executor.queued().length).toBe(5);
    expect(bed.executor.known()).toEqual([]);
  });

  test("indexes beyond the scheduler's maximum become positions", async () => {
    for (const index of [5_000, 6_000]) bed.start(run(1, index), { arrayIndex: index });
    await bed.aRound();
    expect(bed.scheduler.submitted[0]?.indexes).toEqual([0, 1]);
    bed.scheduler.end("1_1", { kind: "exited", exitCode: 4 });
    await bed.aRound();
    expect(bed.reports).toEqual(
      ["1.6000 running", '1.6000 ended {"kind":"exited","exitCode":4}'].slice(-bed.reports.length),
    );
  });

  test("an array beyond the scheduler's limit is submitted one by one", async () => {
    bed.scheduler.trouble = (call) => {
      if (call === "submit" && bed.scheduler.calls.length === 1) {
        return new AppError("exhausted", "Invalid job array specification");
      }
      return undefined;
    };
    for (const index of [0, 1]) bed.start(run(1, index), { arrayIndex: index });
    await bed.aRound();
    await bed.aRound();
    expect(bed.scheduler.submitted.map(({ indexes }) => indexes)).toEqual([undefined, undefined]);
  });

  test("a rejected submission ends the run with the reason", async () => {
    bed.scheduler.trouble = (call) =>
      call === "submit" ? new AppError("invalid_argument", "no such partition") : undefined;
    bed.start(run(1));
    await bed.aRound();
    expect(bed.reports).toEqual([
      '1.0 ended {"kind":"could-not-start","message":"no such partition"}',
    ]);
  });

  for (const isTaken of [true, false]) {
    test(`without an answer the agent looks the submission up, accepted: ${isTaken}`, async () => {
      bed.scheduler.trouble = (call) => (call === "submit" ? away() : undefined);
      bed.scheduler.takesInTrouble = isTaken;
      bed.start(run(1));
      await bed.aRound();
      bed.scheduler.trouble = undefined;
      await bed.clock.pass(limits.lowerSettleMs + limits.lowerRetryMsMin + 1_000);
      expect(bed.scheduler.calls).toContain("find");
      expect(bed.scheduler.submitted.length).toBe(1);
      bed.scheduler.end("1");
      await bed.clock.pass(2_000);
      expect(bed.reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":0}');
    });
  }

  test("of a partly accepted array only the rest is submitted again", async () => {
    bed.scheduler.trouble = (call) => (call === "submit" ? away() : undefined);
    bed.scheduler.takesInTrouble = true;
    bed.scheduler.dropped.add(1).add(2);
    for (const index of [0, 1, 2]) bed.start(run(1, index), { arrayIndex: index });
    await bed.aRound();
    bed.scheduler.trouble = undefined;
    bed.scheduler.dropped.clear();
    await bed.clock.pass(limits.lowerSettleMs + 2_000);
    expect(bed.scheduler.submitted.map(({ indexes }) => indexes)).toEqual([
      [0, 1, 2],
      [1, 2],
    ]);
    for (const id of ["1_0", "2_1", "2_2"]) bed.scheduler.end(id);
    await bed.clock.pass(2_000);
    expect(bed.executor.known().map(({ report }) => report.kind)).toEqual([
      "ended",
      "ended",
      "ended",
    ]);
  });

  test("a restarted agent finds submitted parts, and submits those that were only intended", async () => {
    bed.scheduler.trouble = (call) => (call === "submit" ? away() : undefined);
    bed.scheduler.takesInTrouble = true;
    bed.start(run(1));
    await bed.aRound();
    bed.scheduler.trouble = undefined;
    await bed.reopen();
    bed.start(run(1)); // the server asks again
    bed.start(run(2));
    expect(bed.executor.queued()).toEqual([run(1), run(2)]);
    await bed.clock.pass(limits.lowerSettleMs + 1_000);
    expect(bed.scheduler.submitted.map(({ marker }) => marker.split(":")[2])).toEqual([
      "1.0.1",
      "2.0.1",
    ]);
  });

  test("the files of a part show its end when it ended while the agent was away", async () => {
    bed.scheduler.trouble = (call) => (call === "submit" ? away() : undefined);
    bed.start(run(1));
    await bed.aRound();
    bed.scheduler.trouble = undefined;
    await bed.executor.close();
    bed.leave("1.0.1", "claim", "77\n");
    bed.leave("1.0.1", "exit", "77\nexit 5\nend\n");
    await bed.open();
    await bed.clock.pass(limits.lowerSettleMs + 1_000);
    expect(bed.scheduler.submitted).toEqual([]);
    expect(bed.reports).toEqual(['1.0 ended {"kind":"exited","exitCode":5}']);
  });
});

describe("a scheduler that is away", () => {
  test("ends nothing, is polled ever more rarely, and is logged once", async () => {
    bed.start(run(1));
    await bed.aRound();
    bed.scheduler.run("1");
    await bed.aRound();
    bed.scheduler.trouble = away;
    bed.scheduler.calls.length = 0;
    await bed.clock.pass(10 * 60_000);
    expect(bed.scheduler.calls.length).toBeLessThan(20);
    expect(bed.scheduler.calls.length).toBeGreaterThan(9);
    expect(bed.reports).toEqual(["1.0 running"]);
    bed.scheduler.trouble = undefined;
    bed.scheduler.end("1");
    await bed.clock.pass(limits.lowerRetryMsMax);
    expect(bed.reports).toEqual(["1.0 running", '1.0 ended {"kind":"exited","exitCode":0}']);
    expect(bed.log).toEqual([
      expect.stringMatching(/^warn: fake does not answer/),
      expect.stringMatching(/^info: .*ended: fake does not answer/),
    ]);
  });

  test("one that accepts no jobs is still polled for the others", async () => {
    bed.start(run(1));
    await bed.aRound();
    bed.scheduler.trouble = (call) => (call === "submit" ? away() : undefined);
    bed.start(run(2));
    await bed.aRound();
    bed.scheduler.end("1");
    await bed.clock.pass(1_000);
    expect(bed.reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":0}');
    expect(bed.log).toEqual([expect.stringMatching(/^warn: fake accepts no jobs/)]);
  });
});

describe("jobs that the scheduler has no record of", () => {
  test("are lost after a while, not before", async () => {
    bed.start(run(1));
    await bed.aRound();
    bed.scheduler.run("1");
    await bed.aRound();
    bed.scheduler.states.delete("1");
    await bed.clock.pass(limits.lowerMissingMsMax - 1_000);
    expect(bed.reports).toEqual(["1.0 running"]);
    await bed.clock.pass(limits.lowerPollMsMax + 1_000);
    expect(bed.reports.at(-1)).toBe(
      '1.0 ended {"kind":"vanished","message":"fake has no record of job 1 any more, and it left no exit code"}',
    );
  });

  test("that reappear continue", async () => {
    bed.start(run(1));
    await bed.aRound();
    bed.scheduler.states.delete("1");
    await bed.clock.pass(limits.lowerMissingMsMax - 5_000);
    bed.scheduler.run("1");
    await bed.clock.pass(limits.lowerMissingMsMax);
    bed.scheduler.states.delete("1");
    await bed.clock.pass(limits.lowerMissingMsMax - 5_000);
    expect(bed.reports).toEqual(["1.0 running"]);
  });

  test("end with the exit code that they recorded", async () => {
    bed.start(run(1));
    await bed.aRound();
    bed.scheduler.states.delete("1");
    bed.leave("1.0.1", "exit", "1\nKilled\nexit 137\nend\n");
    await bed.clock.pass(2_000);
    expect(bed.reports).toEqual(['1.0 ended {"kind":"signalled","signal":"SIGKILL"}']);
  });
});

test("links to the tasks of an array stay until the last task of its job has ended", async () => {
  for (const index of [0, 1]) bed.start(run(1, index), { arrayIndex: index });
  await bed.aRound();
  const arrays = (): string[] => readdirSync(join(bed.directory, "arrays"));
  bed.scheduler.end("1_0");
  await bed.aRound();
  bed.executor.forget(run(1, 0));
  expect(arrays()).toEqual(["1.0.1"]);
  await bed.reopen();
  bed.scheduler.end("1_1");
  await bed.aRound();
  bed.executor.forget(run(1, 1));
  expect(arrays()).toEqual([]);
});

test("the reasons of queued runs are in the scheduler's words, equal ones together", async () => {
  bed.start(run(1));
  expect(bed.executor.whyQueued?.()).toEqual([
    { reason: "fake: it is being submitted", runs: [run(1)] },
  ]);
  for (const id of [2, 3]) bed.start(run(id));
  await bed.aRound();
  bed.scheduler.states.set("1", { kind: "queued", reason: "Priority" });
  bed.scheduler.states.set("2", { kind: "queued", reason: "Resources" });
  bed.scheduler.states.set("3", { kind: "queued", reason: "Priority" });
  await bed.aRound();
  expect(bed.executor.whyQueued?.()).toEqual([
    { reason: "fake: Priority", runs: [run(1), run(3)] },
    { reason: "fake: Resources", runs: [run(2)] },
  ]);
  for (const id of ["1", "2", "3"]) bed.scheduler.run(id);
  await bed.clock.pass(2_000);
  expect(bed.executor.whyQueued?.()).toEqual([]);
});

test("a second job for a run that another has claimed does not count", async () => {
  bed.start(run(1));
  await bed.aRound();
  bed.leave("1.0.1", "claim", "55\n");
  bed.scheduler.run("55");
  bed.scheduler.end("1");
  await bed.clock.pass(2_000);
  expect(bed.reports).toEqual(["1.0 running"]);
  bed.scheduler.end("55", { kind: "exited", exitCode: 3 });
  await bed.clock.pass(2_000);
  expect(bed.reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":3}');
});

test("parts that do not change are polled rarely, those that change often", async () => {
  bed.start(run(1));
  await bed.aRound();
  bed.scheduler.calls.length = 0;
  await bed.clock.pass(2_000);
  expect(bed.scheduler.calls.length).toBeGreaterThan(4);
  await bed.clock.pass(10 * 60_000);
  bed.scheduler.calls.length = 0;
  await bed.clock.pass(60_000);
  expect(bed.scheduler.calls.length).toBeLessThanOrEqual(7);
});

test("an idle executor calls nothing and has no timer except for expiring outputs", async () => {
  await bed.clock.pass(60_000);
  expect(bed.scheduler.calls).toEqual([]);
  expect(bed.clock.timers).toBe(0);
  bed.start(run(1));
  await bed.aRound();
  bed.scheduler.end("1");
  await bed.aRound();
  bed.executor.forget(run(1));
  await bed.clock.pass(limits.outputKeptMsMax + 3_600_000);
  const how = { offset: 0, maxBytes: 1, waitMs: 0 };
  await expect(bed.executor.readOutput(run(1), "stdout", how)).rejects.toMatchObject({
    code: "not_found",
  });
});
