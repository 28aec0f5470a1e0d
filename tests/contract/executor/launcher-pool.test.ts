import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";

import { beforeEach, describe, expect, test } from "vitest";

import { createRemover } from "../../../src/agent/runs/remover.ts";
import { PoolStarter } from "../../../src/agent/executors/process/launchers/pool-starter.ts";
import { SpawnStarter } from "../../../src/agent/executors/process/launchers/spawn-starter.ts";
import type { ProcessStarter } from "../../../src/agent/executors/process/launchers/starter.ts";
import { limits } from "../../../src/limits.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aRequest, endOfRun, readAll, reportFor } from "./executor-contract.ts";
import {
  exited,
  expectEachOnce,
  expectSignalsApart,
  expectStraysApart,
  idOf,
  linesOf,
  setUpLauncher,
  shell,
} from "./launcher-setup.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";
import { kill, realClock } from "./process-bed.ts";

const setup = setUpLauncher("perl");

/** Excludes lanes that were just forked and still have the launcher's title. */
const launcherPids = (): number[] =>
  setup.bed.helpers("launcher").filter((pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "latin1");
      return status.includes(`\nPPid:\t${process.pid}\n`);
    } catch {
      return false; // ended while we looked
    }
  });

describe("a launcher killed from outside", () => {
  test("is replaced; the commands of its lanes continue and their real ends are reported", async () => {
    const wait = setup.waitFor("go");
    for (const jobId of [1, 2, 3, 4]) {
      setup.start(jobId, `${wait}; exit ${jobId}`);
    }
    await eventually(() => setup.bed.processes().length >= 4, { what: "all to run" });
    const before = launcherPids();
    for (const pid of before) kill(pid);
    await eventually(() => setup.bed.helpers("launcher").every((pid) => !before.includes(pid)), {
      what: "the launchers to be gone",
    });
    expect((await setup.runOnce(5, "exit 5")).end).toEqual(exited(5));
    for (const jobId of [1, 2, 3, 4]) {
      await eventually(() => reportFor(setup.executor, idOf(jobId))?.kind === "running", {
        what: `${jobId} to be reported as running`,
      });
    }
    writeFileSync(setup.path("go"), "");
    for (const jobId of [1, 2, 3, 4]) {
      const { end } = await endOfRun(setup.executor, idOf(jobId));
      expect(end).toEqual(exited(jobId));
    }
    expect((await setup.runOnce(6, "exit 6")).end).toEqual(exited(6));
    await eventually(() => setup.bed.helpers("launcher").length === 2, {
      what: "two launchers again",
    });
  });

  test("at any moment of many starts: each runs exactly once", () =>
    expectEachOnce(setup, 120, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      for (const pid of launcherPids().slice(0, 1)) kill(pid);
    }));

  test("a lane killed while it is idle is no loss", async () => {
    await setup.warmUp();
    for (const pid of setup.bed.helpers("lane")) kill(pid);
    for (const jobId of [1, 2, 3, 4]) {
      expect((await setup.runOnce(jobId, `exit ${jobId}`)).end).toEqual(exited(jobId));
    }
  });

  test("a run sent to a lane that was killed goes to one other lane, not to two", async () => {
    const launchers = await setup.warmUp();
    for (const pid of launchers) kill(pid, "SIGSTOP");
    const lanes = setup.bed.helpers("lane");
    for (const pid of lanes) kill(pid);
    await eventually(() => setup.bed.helpers("lane").every((pid) => !lanes.includes(pid)), {
      what: "the lanes to be gone",
    });
    for (const jobId of [1, 2, 3, 4]) setup.start(jobId, `exit ${jobId}`);
    await new Promise((resolve) => setTimeout(resolve, 50)); // the frames are in the pipes, probably
    for (const pid of launchers) kill(pid, "SIGCONT");
    for (const jobId of [1, 2, 3, 4]) {
      expect((await endOfRun(setup.executor, idOf(jobId))).end).toEqual(exited(jobId));
    }
    // Nothing follows of a run that a second lane found claimed, but its prepared directory stays.
    const spares = setup.path("spare");
    expect(readdirSync(spares).flatMap((name) => readdirSync(join(spares, name)))).toEqual([]);
  });
});

test("a slow launcher is waited for: none is replaced, nothing is reported as running, all run once", async () => {
  await setup.warmUp();
  const pids = [...setup.bed.helpers("launcher"), ...setup.bed.helpers("lane")];
  for (const pid of pids) kill(pid, "SIGSTOP");
  const jobs = Array.from({ length: 50 }, (_, at) => at + 1);
  for (const jobId of jobs) setup.start(jobId, `echo ${jobId} >>${setup.path("executed")}`);
  await new Promise((resolve) => setTimeout(resolve, limits.claimTimeoutMs + 500));
  expect(jobs.filter((jobId) => reportFor(setup.executor, idOf(jobId)) !== undefined)).toEqual([]);
  setup.executor.stop(idOf(50)); // no lane has it
  expect((await endOfRun(setup.executor, idOf(50))).end.kind).toBe("stopped");
  for (const pid of pids) kill(pid, "SIGCONT");
  for (const jobId of jobs.slice(0, 49)) await endOfRun(setup.executor, idOf(jobId));
  expect(setup.bed.helpers("launcher").filter((pid) => pids.includes(pid)).length).toBe(2);
  expect(linesOf(setup.path("executed")).length).toBe(49);
});

describe("a launcher that does not answer for very long", () => {
  beforeEach(async () => {
    await setup.executor.close();
    setup.executor = await setup.bed.open({ launcherStallMs: 500 });
  });

  test("is given up, not killed, and its launches run once", async () => {
    await setup.warmUp();
    const stopped = [...setup.bed.helpers("launcher"), ...setup.bed.helpers("lane")];
    for (const pid of stopped) kill(pid, "SIGSTOP");
    for (const jobId of [1, 2, 3, 4]) {
      const text = `echo ${jobId} >>${setup.path("executed")}; exit ${jobId}`;
      setup.start(jobId, text);
    }
    for (const jobId of [1, 2, 3, 4]) {
      const { end } = await endOfRun(setup.executor, idOf(jobId));
      expect(end).toEqual(exited(jobId));
      setup.executor.forget(idOf(jobId));
    }
    expect(stopped.every((pid) => existsSync(`/proc/${pid}`))).toBe(true);
    // Those that wake up too late cannot claim anything any more.
    for (const pid of stopped) kill(pid, "SIGCONT");
    await eventually(() => stopped.every((pid) => !existsSync(`/proc/${pid}`)), {
      what: "the old ones to end",
    });
    expect(linesOf(setup.path("executed")).sort()).toEqual(["1", "2", "3", "4"]);
  });

  test("a lane that wakes up after its request was given up does not run it later", async () => {
    await setup.warmUp();
    const lanes = setup.bed.helpers("lane");
    for (const pid of lanes) kill(pid, "SIGSTOP");
    expect((await setup.runOnce(1, `echo once >>${setup.path("executed")}; exit 1`)).end).toEqual(
      exited(1),
    );
    setup.executor.forget(idOf(1));
    await eventually(() => !existsSync(setup.path("runs/1.0.1")), { what: "the run to be gone" });
    for (const pid of lanes) kill(pid, "SIGCONT");
    await setup.executor.close();
    await eventually(() => setup.bed.helpers("lane").length === 0, { what: "lanes to end" });
    expect(linesOf(setup.path("executed"))).toEqual(["once"]);
    setup.executor = await setup.bed.open();
  });
});

test("when the agent closes, launchers and idle lanes end; busy ones end with their work", async () => {
  await setup.warmUp();
  const wait = `${setup.waitFor("go")}; exit 3`;
  setup.start(1, wait);
  await eventually(() => setup.bed.processes().length > 0, { what: "it to run" });
  await setup.executor.close();
  await eventually(() => setup.bed.helpers("launcher").length === 0, { what: "launchers to end" });
  await eventually(() => setup.bed.helpers("lane").length === 1, { what: "idle lanes to end" });
  setup.executor = await setup.bed.open();
  writeFileSync(setup.path("go"), "");
  expect((await endOfRun(setup.executor, idOf(1))).end).toEqual(exited(3));
  await eventually(() => setup.bed.helpers("lane").length === 0, { what: "the busy lane to end" });
});

test("TERM to launchers and lanes does not end them: exit codes are not lost", async () => {
  setup.executor.start(
    aRequest(shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.02; done")),
  );
  await setup.executor.readOutput(idOf(1), "stdout", { offset: 0, maxBytes: 6, waitMs: 10_000 });
  const everyone = [
    ...setup.bed.helpers("launcher"),
    ...setup.bed.helpers("lane"),
    ...setup.bed.processes(),
  ];
  for (const pid of everyone) kill(pid, "SIGTERM");
  expect((await endOfRun(setup.executor, idOf(1))).end).toEqual(exited(7));
  expect(setup.bed.helpers("launcher").length).toBe(2);
});

test("lanes that are no longer needed are ended", async () => {
  const ids = Array.from({ length: 80 }, (_, index) => idOf(index + 1));
  const wait = setup.waitFor("go");
  for (const id of ids) setup.executor.start(aRequest(shell(wait), { id }));
  await eventually(() => setup.bed.helpers("lane").length === ids.length, {
    what: "a lane for each",
  });
  writeFileSync(setup.path("go"), "");
  for (const id of ids) await endOfRun(setup.executor, id);
  const kept = limits.launchersMax * limits.launcherIdleLanesMax;
  await eventually(() => setup.bed.helpers("lane").length <= kept, { what: "the others to end" });
});

test("death by INT and PIPE differs from exits with 130 and 141", () => expectSignalsApart(setup));

describe("reused directories", () => {
  // With the time of its creation: the kernel soon reuses the number of a removed one.
  const inode = (jobId: number): string =>
    readFileSync(setup.path(`inodes-${jobId}`), "utf8").trim();
  const note = (jobId: number): string => `stat -c '%i %w' . >${setup.path(`inodes-${jobId}`)}; `;

  async function runAndForget(jobId: number, text: string) {
    const result = await setup.runOnce(jobId, `${note(jobId)}${text}`);
    setup.executor.forget(idOf(jobId));
    await new Promise((resolve) => setImmediate(resolve));
    return result;
  }

  test("a run that left nothing passes its directory to another; its empty output is still readable", async () => {
    await runAndForget(1, "exit 0");
    for (let jobId = 2; jobId <= 4; jobId += 1) await runAndForget(jobId, "ls -A >&2; exit 0");
    expect(new Set([1, 2, 3, 4].map(inode)).size).toBeLessThan(4);
    for (let jobId = 1; jobId <= 4; jobId += 1) {
      expect((await readAll(setup.executor, idOf(jobId), "stderr")).text).toBe("");
    }
  });

  test("one with files, or with a changed mode, is not reused", async () => {
    await runAndForget(1, "echo x >left");
    await runAndForget(2, "chmod 755 .");
    await runAndForget(3, "mkdir deep");
    for (let jobId = 4; jobId <= 9; jobId += 1) {
      const { stdout } = await runAndForget(jobId, "ls -A; stat -c %a .");
      expect(stdout).toBe("700\n");
      expect([1, 2, 3].map(inode)).not.toContain(inode(jobId));
    }
  });

  test("processes of an earlier command cannot write into the output of a later one", () =>
    expectStraysApart(setup));

  test("one in which a stop was marked is not reused, even if its lane had not seen the mark", async () => {
    await setup.executor.close();
    const recycled: string[] = [];
    const ends: (() => void)[] = [];
    const starter: ProcessStarter = {
      start({ directory }, onGone) {
        mkdirSync(directory);
        writeFileSync(
          join(directory, "state"),
          `lane ${readFileSync("/proc/self/stat", "latin1")}`,
        );
        ends.push(() => {
          appendFileSync(join(directory, "state"), "exit 0\nend\n");
          const outcome = { kind: "exited", exitCode: 0 } as const;
          const [hasFiles, endedAtMs] = [true, undefined];
          onGone({
            kind: "ended",
            outcome,
            outputBytes: [0, 0],
            isClean: true,
            hasFiles,
            endedAtMs,
            usage: undefined,
          });
        });
      },
      cancel: () => false,
      recycle: (directory) => recycled.push(basename(directory)) > 0,
      close: () => undefined,
    };
    setup.executor = await setup.bed.open({ starter });
    for (const jobId of [1, 2]) setup.start(jobId, "exit 0");
    await new Promise((resolve) => setImmediate(resolve));
    setup.executor.stop(idOf(2));
    for (const end of ends) end();
    for (const jobId of [1, 2]) {
      await endOfRun(setup.executor, idOf(jobId));
      setup.executor.forget(idOf(jobId));
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(recycled).toEqual(["1.0.1"]);
  });

  test("the output of an earlier run is never that of a later one", async () => {
    await setup.executor.close();
    setup.executor = await setup.bed.open({
      keptBounds: { runsMax: 1, bytesMax: 1e6, ageMsMax: 1e9 },
    });
    for (let jobId = 1; jobId <= 12; jobId += 1) {
      const { stdout } = await runAndForget(jobId, jobId % 3 === 0 ? "exit 0" : `echo ${jobId}`);
      expect(stdout).toBe(jobId % 3 === 0 ? "" : `${jobId}\n`);
    }
    expect(readdirSync(setup.path("runs")).length).toBeLessThanOrEqual(2);
  });
});

test("where launchers do not start, processes are spawned", async () => {
  const env = { PATH: "/bin:/usr/bin" };
  await setup.executor.close();
  const starter = new PoolStarter({
    perl: "/bin/false",
    runsDirectory: setup.path("runs"),
    spareDirectory: setup.path("spare"),
    env,
    clock: realClock,
    logger: silentLogger,
    remover: createRemover(setup.path("trash"), silentLogger),
    fallback: new SpawnStarter(env, realClock),
  });
  setup.executor = await setup.bed.open({ starter });
  expect((await setup.runOnce(1, "exit 6")).end).toEqual(exited(6));
});
