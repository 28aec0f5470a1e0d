import { readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { identityOf, readBootId } from "../proc.ts";
import { away } from "./testing/fake-scheduler.ts";
import { run, useLowerBed } from "./testing/lower-bed.ts";

const bed = useLowerBed();

describe("a job that the scheduler no longer has a record of", () => {
  const here = (): string => {
    const { startTicks = "" } = identityOf(process.pid) ?? {};
    const place = ["host", readBootId(), readlinkSync("/proc/self/ns/pid")];
    return [...place, process.pid, startTicks, "end", ""].join("\n");
  };
  const beginAndForget = async (runner: string): Promise<void> => {
    bed.start(run(1));
    await bed.aRound();
    bed.scheduler.run("1");
    await bed.aRound();
    bed.leave("1.0.1", "claim", "1\n");
    bed.leave("1.0.1", "runner", runner);
    bed.scheduler.states.delete("1");
    await bed.clock.pass(3 * limits.lowerMissingMsMax);
  };

  test("runs as long as its processes, and ends as they did", async () => {
    await beginAndForget(here());
    expect(bed.reports).toEqual(["1.0 running"]);
    expect(bed.log).toEqual([
      "warn: fake has no record of a job that still runs; awaiting its end",
    ]);
    bed.leave("1.0.1", "exit", "1\nexit 5\nend\n");
    await bed.clock.pass(limits.lowerPollMsMax);
    expect(bed.reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":5}');
  });

  test("is stopped through its wrapper, and reported when that has ended", async () => {
    await beginAndForget(here());
    bed.executor.stop(run(1));
    await bed.clock.pass(3 * limits.lowerMissingMsMax);
    expect(bed.reports).toEqual(["1.0 running"]);
    const order = readFileSync(join(bed.directory, "runs/1.0.1/control"), "utf8");
    expect(order).toMatch(/^stop \d+ end\n$/);
    bed.leave("1.0.1", "exit", "1\nKilled\nexit 137\nend\n");
    await bed.clock.pass(limits.lowerPollMsMax);
    expect(bed.reports.at(-1)).toBe('1.0 ended {"kind":"stopped","signal":"SIGKILL"}');
  });

  test("is lost when its wrapper is gone, here or on a silent machine", async () => {
    await beginAndForget(here().replace(`\n${process.pid}\n`, "\n4194304\n"));
    expect(bed.reports.at(-1)).toContain('"vanished"');
  });

  test("is not confused with a later job that has the same id", async () => {
    await beginAndForget(here());
    bed.scheduler.nextId = 1;
    bed.start(run(2));
    await bed.aRound();
    bed.scheduler.end("1", { kind: "exited", exitCode: 9 });
    await bed.aRound();
    expect(bed.reports.slice(1)).toEqual(['2.0 ended {"kind":"exited","exitCode":9}']);
    bed.leave("1.0.1", "exit", "1\nexit 5\nend\n");
    await bed.clock.pass(limits.lowerPollMsMax);
    expect(bed.reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":5}');
  });
});

describe("stopping", () => {
  test("cancels, kills after the grace period, and repeats the kill", async () => {
    bed.start(run(1));
    await bed.aRound();
    bed.scheduler.run("1");
    await bed.aRound();
    bed.executor.stop(run(1));
    await bed.clock.pass(1);
    expect(bed.scheduler.cancelled).toEqual([["1", "ask"]]);
    await bed.clock.pass(2_000 + limits.lowerCancelRepeatMs + limits.lowerPollMsMax);
    expect(bed.scheduler.cancelled.slice(0, 3)).toEqual([
      ["1", "ask"],
      ["1", "kill"],
      ["1", "kill"],
    ]);
    bed.scheduler.end("1", { kind: "cancelled" });
    await bed.clock.pass(limits.lowerPollMsMax);
    expect(bed.reports.at(-1)).toBe('1.0 ended {"kind":"stopped","signal":"SIGTERM"}');
  });

  test("a part that is not submitted yet never is, and no job can claim it any more", async () => {
    bed.start(run(1));
    bed.executor.stop(run(1));
    await bed.aRound();
    expect(bed.scheduler.submitted).toEqual([]);
    expect(bed.reports).toEqual(['1.0 ended {"kind":"stopped"}']);
    expect(readFileSync(join(bed.directory, "runs/1.0.1/claim"), "utf8")).toBe("stopped\n");
  });

  test("survives a restart of the agent", async () => {
    bed.start(run(1));
    await bed.aRound();
    bed.executor.stop(run(1));
    await bed.reopen();
    await bed.aRound();
    expect(bed.scheduler.cancelled).toEqual([["1", "ask"]]);
  });

  test("does not change a run that has ended by itself", async () => {
    bed.start(run(1));
    await bed.aRound();
    bed.leave("1.0.1", "exit", "1\nexit 0\nend\n");
    bed.executor.stop(run(1));
    bed.scheduler.end("1");
    await bed.aRound();
    expect(bed.reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":0}');
    expect(bed.scheduler.cancelled).toEqual([]);
  });

  test("a time limit is exact to the second", async () => {
    const nowMs = bed.clock.nowMs();
    bed.start(run(1), { timeLimitMs: 5_000 });
    await bed.aRound();
    bed.scheduler.run("1", nowMs);
    await bed.clock.pass(4_000);
    expect(bed.scheduler.cancelled).toEqual([]);
    await bed.clock.pass(3_000);
    expect(bed.scheduler.cancelled).toEqual([["1", "ask"]]);
    bed.scheduler.end("1", { kind: "cancelled" });
    await bed.clock.pass(limits.lowerPollMsMax);
    expect(bed.reports.at(-1)).toBe('1.0 ended {"kind":"time-limit","signal":"SIGTERM"}');
  });
});

describe("a jobspec", () => {
  test("becomes a job for each task, with the ids of its dependencies", async () => {
    bed.startJobspec(run(1));
    await bed.clock.pass(2_000);
    expect(
      bed.scheduler.submitted.map(({ name, indexes, after }) => ({ name, indexes, after })),
    ).toEqual([
      { name: "job/a", indexes: undefined, after: [] },
      { name: "job/b", indexes: [0, 1], after: ["1"] },
      { name: "job/c", indexes: undefined, after: ["2_0", "2_1"] },
    ]);
    bed.scheduler.run("1");
    await bed.clock.pass(1_000);
    for (const id of ["1", "2_0", "2_1", "3"]) bed.scheduler.end(id);
    await bed.clock.pass(2_000);
    expect(bed.reports).toEqual(["1.0 running", '1.0 ended {"kind":"exited","exitCode":0}']);
  });

  test("ends like the first of its tasks that failed; skipped tasks are cancelled", async () => {
    bed.startJobspec(run(1));
    await bed.clock.pass(2_000);
    const skipped = { kind: "skipped", message: "" } as const;
    bed.scheduler.end("1");
    bed.scheduler.end("2_0", { kind: "exited", exitCode: 8 }, 4_000);
    bed.scheduler.end("2_1", { kind: "exited", exitCode: 9 }, 3_000);
    bed.scheduler.end("3", skipped);
    await bed.clock.pass(2_000);
    expect(bed.reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":9}');
    expect(bed.scheduler.cancelled).toEqual([["3", "ask"]]);
  });

  test("whose first task failed while the agent was away submits no more tasks", async () => {
    bed.scheduler.trouble = (call) =>
      call === "submit" && bed.scheduler.submitted.length === 1 ? away() : undefined;
    bed.startJobspec(run(1));
    await bed.aRound();
    expect(bed.scheduler.submitted.length).toBe(1);
    bed.scheduler.end("1", { kind: "exited", exitCode: 2 });
    await bed.reopen();
    bed.scheduler.trouble = undefined;
    await bed.clock.pass(limits.lowerSettleMs + 2_000);
    expect(bed.scheduler.submitted.length).toBe(1);
    expect(bed.reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":2}');
  });

  test("a step that is rejected with its dependencies is submitted without them when they succeed", async () => {
    bed.scheduler.trouble = (call) =>
      call === "submit" && bed.scheduler.submitted.length === 1
        ? new AppError("invalid_argument", "afterok: job 1 failed or was canceled")
        : undefined;
    bed.startJobspec(run(1));
    await bed.clock.pass(2_000);
    expect(bed.scheduler.submitted.length).toBe(1);
    const rejections = bed.scheduler.calls.filter((call) => call === "submit").length;
    await bed.clock.pass(20_000);
    expect(bed.scheduler.calls.filter((call) => call === "submit").length).toBe(rejections);
    bed.scheduler.trouble = undefined;
    bed.scheduler.end("1");
    await bed.clock.pass(2_000);
    expect(bed.scheduler.submitted.map(({ name, after }) => [name, after])).toEqual([
      ["job/a", []],
      ["job/b", []],
      ["job/c", ["2_0", "2_1"]],
    ]);
  });

  test("does not continue after a task that the scheduler has no record of", async () => {
    bed.scheduler.trouble = (call) =>
      call === "submit" && bed.scheduler.submitted.length === 1 ? away() : undefined;
    bed.startJobspec(run(1));
    await bed.aRound();
    bed.scheduler.states.delete("1");
    await bed.reopen();
    bed.scheduler.trouble = undefined;
    await bed.clock.pass(limits.lowerSettleMs + limits.lowerMissingMsMax + limits.lowerPollMsMax);
    expect(bed.scheduler.submitted.length).toBe(1);
    expect(bed.reports.at(-1)).toContain("vanished");
  });

  test("a job that can never begin is skipped, also when the record only says cancelled", async () => {
    bed.startJobspec(run(1));
    await bed.clock.pass(2_000);
    bed.scheduler.end("1", { kind: "exited", exitCode: 4 }, 5_000);
    for (const id of ["2_0", "2_1", "3"]) {
      const end = { kind: "cancelled" } as const;
      bed.scheduler.states.set(id, {
        kind: "ended",
        startedAtMs: undefined,
        endedAtMs: 4_000,
        end,
      });
    }
    await bed.clock.pass(2_000);
    expect(bed.reports.at(-1)).toBe('1.0 ended {"kind":"exited","exitCode":4}');
  });

  test("that is invalid could not start", async () => {
    bed.start(run(1), { work: { kind: "jobspec", text: "version: 2" } });
    await bed.aRound();
    expect(bed.reports[0]).toContain("could-not-start");
  });

  test("without tasks could not start", async () => {
    const text = "version: 1\nresources: {ior: {type: node, count: 1}}";
    bed.start(run(1), { work: { kind: "jobspec", text } });
    await bed.aRound();
    expect(bed.reports[0]).toMatch(/could-not-start.*has nothing to run/);
  });
});
