import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { WRAPPER } from "../../../src/agent/executors/process/launchers/wrapper.ts";
import { createLowerExecutor } from "../../../src/agent/lower/lower-executor.ts";
import { FakeScheduler } from "../../../src/agent/lower/testing/fake-scheduler.ts";
import { readBootId } from "../../../src/agent/proc.ts";
import { FakeClock } from "../../../src/testing/fake-clock.ts";
import { toSteps } from "../../../src/core/jobspec/write/to-steps.ts";
import { limits } from "../../../src/limits.ts";
import type { Executor, RunId } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";
import { readAll } from "./executor-contract.ts";
import type { ProcessBed } from "./process-bed.ts";
import { makeProcessBed } from "./process-bed.ts";

// Journals as agents of version 0.1.0 wrote them: these lines never change. An agent that is upgraded in place must find its runs, and a
// downgraded one must read the entries of the newer one.

const id = (jobId: number): RunId => ({ jobId, index: 0, attempt: 1 });
const linesOf = (entries: readonly object[]): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
const journalIn = (directory: string): unknown[] =>
  readFileSync(join(directory, "journal.ndjson"), "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line): unknown => JSON.parse(line));

describe("a process executor over an earlier journal", () => {
  let bed: ProcessBed;
  let executor: Executor | undefined;
  beforeEach(() => {
    bed = makeProcessBed("spawn");
  });
  afterEach(async () => {
    await executor?.close();
    executor = undefined;
    await bed.dispose();
  });

  const nowMs = Date.now();
  const terms = {
    program: "sleep",
    startedAtMs: nowMs - 5_000,
    killGraceMs: 1_000,
    outputLimitBytes: 1_000,
  };
  const ended = {
    kind: "ended",
    startedAtMs: nowMs - 5_000,
    endedAtMs: nowMs - 4_000,
    end: { kind: "exited", exitCode: 3 },
    usage: { cpuUs: 12, wallUs: 34 },
  };
  const forgotten = {
    kind: "forgotten",
    key: "1.0.1",
    atMs: nowMs - 3_000,
    bytes: 4,
    outputLimitBytes: 1_000,
  };
  const boot = { kind: "boot", bootId: readBootId() };
  const stopping = { kind: "stopping", key: "5.0.1", cause: "stopped", killAtMs: nowMs + 60_000 };

  /** The files that the wrapper of an active run has left. */
  async function leaveRunning(key: string): Promise<void> {
    const directory = join(bed.directory, "runs", key);
    mkdirSync(directory, { recursive: true });
    const args = ["-c", WRAPPER, directory, "", "/bin/sleep", "300"];
    spawn("/bin/sh", args, { detached: true, stdio: ["ignore", "ignore", "ignore", "ignore"] });
    await eventually(() => bed.wrappersOf(key).length > 0, { what: "a wrapper to say who it is" });
  }

  test("finds every run, retains outputs, and writes entries that the earlier version can read", async () => {
    await leaveRunning("3.0.1");
    await leaveRunning("5.0.1");
    mkdirSync(join(bed.directory, "runs", "1.0.1"));
    writeFileSync(join(bed.directory, "runs", "1.0.1", "stdout"), "kept");
    const text = linesOf([
      boot,
      { kind: "started", key: "6.0.1", terms },
      { kind: "removed", key: "6.0.1" },
      { kind: "started", key: "1.0.1", terms },
      { kind: "ended", key: "1.0.1", report: ended },
      forgotten,
      { kind: "started", key: "2.0.1", terms },
      { kind: "ended", key: "2.0.1", report: ended },
      { kind: "started", key: "3.0.1", terms },
      { kind: "begun", key: "3.0.1", atMs: nowMs - 4_500 },
      { kind: "started", key: "4.0.1", terms },
      { kind: "stopping", key: "4.0.1", cause: "time-limit", killAtMs: nowMs - 2_000 },
      { kind: "started", key: "5.0.1", terms },
      stopping,
    ]);
    writeFileSync(join(bed.directory, "journal.ndjson"), `${text}{"kind":"ended","key":"3.0.`);
    executor = await bed.open();

    const stoppedAtMs: unknown = expect.any(Number);
    const timeLimit = { kind: "time-limit", signal: undefined };
    const overtime = { kind: "ended", startedAtMs: nowMs - 5_000, endedAtMs: stoppedAtMs };
    expect(executor.known()).toEqual([
      { id: id(2), report: ended },
      { id: id(3), report: { kind: "running", startedAtMs: nowMs - 4_500 } },
      { id: id(4), report: { ...overtime, end: timeLimit } },
      { id: id(5), report: { kind: "running", startedAtMs: nowMs - 5_000 } },
    ]);
    expect(executor.queued()).toEqual([]);
    expect(journalIn(bed.directory)).toEqual([
      boot,
      forgotten,
      { kind: "started", key: "2.0.1", terms },
      { kind: "ended", key: "2.0.1", report: ended },
      { kind: "started", key: "3.0.1", terms: { ...terms, startedAtMs: nowMs - 4_500 } },
      { kind: "started", key: "4.0.1", terms },
      { kind: "ended", key: "4.0.1", report: { ...overtime, end: { kind: "time-limit" } } },
      { kind: "started", key: "5.0.1", terms },
      stopping,
    ]);
    expect((await readAll(executor, id(1), "stdout")).text).toBe("kept");
    await expect(readAll(executor, id(6), "stdout")).rejects.toThrow("no output");
  });
});

describe("an executor over another scheduler and an earlier journal", () => {
  let directory: string;
  let executor: Executor | undefined;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "busbar-lower-"));
  });
  afterEach(async () => {
    await executor?.close();
    executor = undefined;
    rmSync(directory, { recursive: true, force: true });
  });

  const step = { name: "job", program: "true", after: [] };
  const terms = {
    acceptedAtMs: 900_000,
    killGraceMs: 2_000,
    outputLimitBytes: 1_000,
    steps: [step],
  };
  const twoSteps = {
    ...terms,
    steps: [
      { ...step, name: "a" },
      { ...step, name: "b", after: [0], copies: 2 },
    ],
  };
  const ended = {
    kind: "ended",
    startedAtMs: 910_000,
    endedAtMs: 920_000,
    end: { kind: "signalled", signal: "SIGKILL" },
  };
  const forgotten = {
    kind: "forgotten",
    key: "1.0.1",
    atMs: 930_000,
    bytes: 4,
    outputLimitBytes: 1_000,
    terms,
  };
  const partEnded = {
    kind: "part-ended",
    part: "4.0.1/0",
    state: { kind: "ended", end: { kind: "exited", exitCode: 0 }, endedAtMs: 940_000 },
  };
  const stopping = { kind: "stopping", key: "3.0.1", cause: "stopped", killAtMs: 2_000_000 };
  const submitting = {
    kind: "submitting",
    marker: "busbar:owner:4.0.1/1/0",
    indexes: [0, 1],
    parts: ["4.0.1/1/0", "4.0.1/1/1"],
  };

  test("finds every run and job, and writes entries that the earlier version can read", async () => {
    for (const key of ["1.0.1", "3.0.1"])
      mkdirSync(join(directory, "runs", key), { recursive: true });
    writeFileSync(join(directory, "runs", "1.0.1", "stdout"), "kept");
    const text = linesOf([
      { kind: "accepted", key: "1.0.1", terms },
      { kind: "submitting", marker: "busbar:owner:1.0.1", parts: ["1.0.1"] },
      { kind: "submitted", ids: [["1.0.1", "11"]] },
      { kind: "ended", key: "1.0.1", report: ended },
      forgotten,
      { kind: "accepted", key: "2.0.1", terms },
      { kind: "ended", key: "2.0.1", report: ended },
      { kind: "accepted", key: "3.0.1", terms },
      { kind: "submitted", ids: [["3.0.1", "13"]] },
      { kind: "began", part: "3.0.1", startedAtMs: 910_000 },
      stopping,
      { kind: "accepted", key: "4.0.1", terms: twoSteps },
      { kind: "submitted", ids: [["4.0.1/0", "14"]] },
      partEnded,
      submitting,
      { kind: "accepted", key: "5.0.1", terms },
      { kind: "submitting", marker: "busbar:owner:5.0.1", parts: ["5.0.1"] },
      { kind: "not-submitted", parts: ["5.0.1"] },
      { kind: "accepted", key: "6.0.1", terms },
      { kind: "removed", key: "6.0.1" },
    ]);
    writeFileSync(join(directory, "journal.ndjson"), `${text}{"kind":"ended","key":"3.0.`);
    const clock = new FakeClock();
    const scheduler = new FakeScheduler();
    const options = { directory, scheduler, toSteps, clock, logger: silentLogger };
    executor = await createLowerExecutor(options);

    expect(executor.known()).toEqual([
      { id: id(2), report: ended },
      { id: id(3), report: { kind: "running", startedAtMs: 910_000 } },
    ]);
    expect(executor.queued()).toEqual([id(4), id(5)]);
    expect((await readAll(executor, id(1), "stdout")).text).toBe("kept");
    await expect(readAll(executor, id(6), "stdout")).rejects.toThrow("no output");
    expect(journalIn(directory)).toEqual([
      forgotten,
      { kind: "accepted", key: "2.0.1", terms },
      { kind: "ended", key: "2.0.1", report: ended },
      { kind: "accepted", key: "3.0.1", terms },
      stopping,
      { kind: "began", part: "3.0.1", startedAtMs: 910_000 },
      { kind: "submitted", ids: [["3.0.1", "13"]] },
      { kind: "accepted", key: "4.0.1", terms: twoSteps },
      partEnded,
      { kind: "accepted", key: "5.0.1", terms },
      submitting,
    ]);
    await clock.pass(limits.lowerSettleMs + limits.lowerPollMsMin);
    expect(scheduler.cancelled).toEqual([["13", "ask"]]);
    expect(scheduler.calls).toContain("find");
  });
});
