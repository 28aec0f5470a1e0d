import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createRemover } from "../../../src/agent/runs/remover.ts";
import { PoolStarter } from "../../../src/agent/executors/process/pool-starter.ts";
import { createSpawnStarter } from "../../../src/agent/executors/process/spawn-starter.ts";
import type { ProcessStarter } from "../../../src/agent/executors/process/starter.ts";
import type { Executor, RunId } from "../../../src/ports/executor.ts";
import { limits } from "../../../src/limits.ts";
import { eventually } from "../../support/eventually.ts";
import { aRequest, endOfRun, readAll, reportFor } from "./executor-contract.ts";
import type { ProcessBed } from "./process-bed.ts";
import { kill, makeProcessBed, realClock, silentLogger } from "./process-bed.ts";

const shell = (text: string) => ({ kind: "command", argv: ["/bin/sh", "-c", text] }) as const;
const idOf = (jobId: number): RunId => ({ jobId, index: 0, attempt: 1 });

let bed: ProcessBed;
let executor: Executor;
beforeEach(async () => {
  bed = makeProcessBed("perl");
  executor = await bed.open();
});
afterEach(async () => {
  await executor.close();
  await bed.dispose();
});

const path = (name: string): string => join(bed.directory, name);
const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];

async function runOnce(jobId: number, text: string) {
  executor.start(aRequest(shell(text), { id: idOf(jobId) }));
  const { end } = await endOfRun(executor, idOf(jobId));
  return { end, stdout: (await readAll(executor, idOf(jobId), "stdout")).text };
}

/** Not lanes that were just forked and still have the launcher's title. */
const launcherPids = (): number[] =>
  bed.helpers("launcher").filter((pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "latin1");
      return status.includes(`\nPPid:\t${process.pid}\n`);
    } catch {
      return false; // gone while we looked
    }
  });

/** By now both launchers are up and have said so. */
async function warmUp(): Promise<void> {
  for (let jobId = 901; jobId <= 904; jobId += 1) {
    executor.start(aRequest(shell("exit 0"), { id: idOf(jobId) }));
  }
  for (let jobId = 901; jobId <= 904; jobId += 1) await endOfRun(executor, idOf(jobId));
  expect(bed.helpers("launcher").length).toBe(2);
}

describe("a launcher killed by someone else", () => {
  test("is replaced; what its lanes run goes on and its real end is reported", async () => {
    const wait = `until [ -e ${path("go")} ]; do sleep 0.02; done`;
    for (const jobId of [1, 2, 3, 4]) {
      executor.start(aRequest(shell(`${wait}; exit ${jobId}`), { id: idOf(jobId) }));
    }
    await eventually(() => bed.processes().length >= 4, { what: "all to run" });
    const before = launcherPids();
    for (const pid of before) kill(pid);
    await eventually(() => bed.helpers("launcher").every((pid) => !before.includes(pid)), {
      what: "the launchers to be gone",
    });
    expect((await runOnce(5, "exit 5")).end).toEqual({ kind: "exited", exitCode: 5 });
    for (const jobId of [1, 2, 3, 4]) {
      expect(reportFor(executor, idOf(jobId))?.kind).toBe("running");
    }
    writeFileSync(path("go"), "");
    for (const jobId of [1, 2, 3, 4]) {
      const { end } = await endOfRun(executor, idOf(jobId));
      expect(end).toEqual({ kind: "exited", exitCode: jobId });
    }
    expect((await runOnce(6, "exit 6")).end).toEqual({ kind: "exited", exitCode: 6 });
    await eventually(() => bed.helpers("launcher").length === 2, { what: "two launchers again" });
  });

  test("at any moment of many starts: each runs exactly once", async () => {
    await warmUp();
    const ids = Array.from({ length: 120 }, (_, index) => idOf(index + 1));
    const reports = new Map<number, number>();
    executor.onReport(({ jobId }, { kind }) => {
      if (kind === "ended") reports.set(jobId, (reports.get(jobId) ?? 0) + 1);
    });
    for (const id of ids) {
      const text = `echo ${id.jobId} >>${path("executed")}; exit ${id.jobId % 100}`;
      executor.start(aRequest(shell(text), { id }));
      if (id.jobId % 20 !== 0) continue;
      await new Promise((resolve) => setImmediate(resolve));
      for (const pid of launcherPids().slice(0, 1)) kill(pid);
    }
    for (const id of ids) {
      const { end } = await endOfRun(executor, id);
      expect(end).toEqual({ kind: "exited", exitCode: id.jobId % 100 });
    }
    const executed = linesOf(path("executed")).map(Number);
    expect(executed.sort((a, b) => a - b)).toEqual(ids.map(({ jobId }) => jobId));
    expect([...reports.values()].every((count) => count === 1)).toBe(true);
  });

  test("a lane killed while it waits for work is no loss", async () => {
    await warmUp();
    for (const pid of bed.helpers("lane")) kill(pid);
    for (const jobId of [1, 2, 3, 4]) {
      expect((await runOnce(jobId, `exit ${jobId}`)).end).toEqual({
        kind: "exited",
        exitCode: jobId,
      });
    }
  });
});

describe("a launcher that does not answer", () => {
  test("is noticed and replaced, and what it was asked is done once", async () => {
    await warmUp();
    const stopped = [...bed.helpers("launcher"), ...bed.helpers("lane")];
    for (const pid of stopped) kill(pid, "SIGSTOP");
    for (const jobId of [1, 2, 3, 4]) {
      const text = `echo ${jobId} >>${path("executed")}; exit ${jobId}`;
      executor.start(aRequest(shell(text), { id: idOf(jobId) }));
    }
    for (const jobId of [1, 2, 3, 4]) {
      const { end } = await endOfRun(executor, idOf(jobId));
      expect(end).toEqual({ kind: "exited", exitCode: jobId });
      executor.forget(idOf(jobId));
    }
    // Those that wake up too late find that they can claim nothing any more.
    for (const pid of stopped) kill(pid, "SIGCONT");
    await eventually(() => stopped.every((pid) => !existsSync(`/proc/${pid}`)), {
      what: "the old ones to end",
    });
    expect(linesOf(path("executed")).sort()).toEqual(["1", "2", "3", "4"]);
  });

  test("a lane that sleeps over its request does not run it later", async () => {
    await warmUp();
    const lanes = bed.helpers("lane");
    for (const pid of lanes) kill(pid, "SIGSTOP");
    expect((await runOnce(1, `echo once >>${path("executed")}; exit 1`)).end).toEqual({
      kind: "exited",
      exitCode: 1,
    });
    executor.forget(idOf(1));
    await eventually(() => !existsSync(path("runs/1.0.1")), { what: "the run to be gone" });
    for (const pid of lanes) kill(pid, "SIGCONT");
    await executor.close();
    await eventually(() => bed.helpers("lane").length === 0, { what: "lanes to end" });
    expect(linesOf(path("executed"))).toEqual(["once"]);
    executor = await bed.open();
  });
});

test("when the agent closes, launchers and idle lanes end; the busy ones when their work does", async () => {
  await warmUp();
  const wait = `until [ -e ${path("go")} ]; do sleep 0.02; done; exit 3`;
  executor.start(aRequest(shell(wait), { id: idOf(1) }));
  await eventually(() => bed.processes().length > 0, { what: "it to run" });
  await executor.close();
  await eventually(() => bed.helpers("launcher").length === 0, { what: "launchers to end" });
  await eventually(() => bed.helpers("lane").length === 1, { what: "idle lanes to end" });
  executor = await bed.open();
  writeFileSync(path("go"), "");
  expect((await endOfRun(executor, idOf(1))).end).toEqual({ kind: "exited", exitCode: 3 });
  await eventually(() => bed.helpers("lane").length === 0, { what: "the busy lane to end" });
});

test("TERM to launchers and lanes does not end them: exit codes are not lost", async () => {
  executor.start(aRequest(shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.02; done")));
  await executor.readOutput(idOf(1), "stdout", { offset: 0, maxBytes: 6, waitMs: 10_000 });
  const everyone = [...bed.helpers("launcher"), ...bed.helpers("lane"), ...bed.processes()];
  for (const pid of everyone) kill(pid, "SIGTERM");
  expect((await endOfRun(executor, idOf(1))).end).toEqual({ kind: "exited", exitCode: 7 });
  expect(bed.helpers("launcher").length).toBe(2);
});

test("lanes that nobody needs any more are let go", async () => {
  const ids = Array.from({ length: 80 }, (_, index) => idOf(index + 1));
  const wait = `until [ -e ${path("go")} ]; do sleep 0.05; done`;
  for (const id of ids) executor.start(aRequest(shell(wait), { id }));
  await eventually(() => bed.helpers("lane").length === ids.length, { what: "a lane for each" });
  writeFileSync(path("go"), "");
  for (const id of ids) await endOfRun(executor, id);
  const kept = limits.launchersMax * limits.launcherIdleLanesMax;
  await eventually(() => bed.helpers("lane").length <= kept, { what: "the others to end" });
});

describe("signals that a shell would not tell", () => {
  for (const [name, number] of [
    ["INT", 130],
    ["PIPE", 141],
  ] as const) {
    test(`death by ${name} and an exit with ${number}`, async () => {
      const died = await runOnce(1, `kill -${name} $$`);
      expect(died.end).toEqual({ kind: "signalled", signal: `SIG${name}` });
      const left = await runOnce(2, `exit ${number}`);
      expect(left.end).toEqual({ kind: "exited", exitCode: number });
    });
  }
});

describe("directories that are used again", () => {
  // With the time of its birth: the number of one that is gone is soon given to another.
  const inode = (jobId: number): string => readFileSync(path(`inodes-${jobId}`), "utf8").trim();
  const note = (jobId: number): string => `stat -c '%i %w' . >${path(`inodes-${jobId}`)}; `;

  async function runAndForget(jobId: number, text: string) {
    const result = await runOnce(jobId, `${note(jobId)}${text}`);
    executor.forget(idOf(jobId));
    await new Promise((resolve) => setImmediate(resolve));
    return result;
  }

  test("a run that left nothing gives its directory to another; its empty output is still read", async () => {
    await runAndForget(1, "exit 0");
    for (let jobId = 2; jobId <= 4; jobId += 1) await runAndForget(jobId, "ls -A >&2; exit 0");
    expect(new Set([1, 2, 3, 4].map(inode)).size).toBeLessThan(4);
    for (let jobId = 1; jobId <= 4; jobId += 1) {
      expect((await readAll(executor, idOf(jobId), "stderr")).text).toBe("");
    }
  });

  test("one with files, or whose mode was changed, is not used again", async () => {
    await runAndForget(1, "echo x >left");
    await runAndForget(2, "chmod 755 .");
    await runAndForget(3, "mkdir deep");
    for (let jobId = 4; jobId <= 9; jobId += 1) {
      const { stdout } = await runAndForget(jobId, "ls -A; stat -c %a .");
      expect(stdout).toBe("700\n");
      expect([1, 2, 3].map(inode)).not.toContain(inode(jobId));
    }
  });

  test("what an earlier command left behind cannot write into the output of a later one", async () => {
    const wait = `until [ -e ${path("go")} ]; do sleep 0.02; done`;
    const stray = `: >"$0"; ${wait}; echo stray; : >"$0.written"`;
    for (const jobId of [1, 2, 3, 4]) {
      const out = path(`out-${jobId}`); // of the group, or it would be killed with it
      const text = `setsid sh -c '${stray}' ${out} & until [ -e ${out} ]; do sleep 0.01; done`;
      await runAndForget(jobId, text);
    }
    const later = [5, 6, 7, 8, 9, 10].map(idOf);
    const text = `until [ -e ${path("end")} ]; do sleep 0.02; done; echo own`;
    for (const id of later) executor.start(aRequest(shell(text), { id }));
    await eventually(() => bed.processes().length >= 6, { what: "all to run" });
    writeFileSync(path("go"), "");
    const hasWritten = (jobId: number): boolean => existsSync(path(`out-${jobId}.written`));
    await eventually(() => [1, 2, 3, 4].every(hasWritten), { what: "all strays to have written" });
    writeFileSync(path("end"), "");
    for (const id of later) {
      await endOfRun(executor, id);
      expect((await readAll(executor, id, "stdout")).text).toBe("own\n");
    }
  });

  test("one in which a stop was marked is not used again, even if its lane had not seen the mark", async () => {
    await executor.close();
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
    executor = await bed.open({ starter });
    for (const jobId of [1, 2]) executor.start(aRequest(shell("exit 0"), { id: idOf(jobId) }));
    await new Promise((resolve) => setImmediate(resolve));
    executor.stop(idOf(2));
    for (const end of ends) end();
    for (const jobId of [1, 2]) {
      await endOfRun(executor, idOf(jobId));
      executor.forget(idOf(jobId));
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(recycled).toEqual(["1.0.1"]);
  });

  test("the output of an earlier run is never that of a later one", async () => {
    await executor.close();
    executor = await bed.open({ keptBounds: { runsMax: 1, bytesMax: 1e6, ageMsMax: 1e9 } });
    for (let jobId = 1; jobId <= 12; jobId += 1) {
      const { stdout } = await runAndForget(jobId, jobId % 3 === 0 ? "exit 0" : `echo ${jobId}`);
      expect(stdout).toBe(jobId % 3 === 0 ? "" : `${jobId}\n`);
    }
    expect(readdirSync(path("runs")).length).toBeLessThanOrEqual(2);
  });
});

test("where launchers do not come up, processes are spawned", async () => {
  const env = { PATH: "/bin:/usr/bin" };
  await executor.close();
  const starter = new PoolStarter({
    perl: "/bin/false",
    runsDirectory: path("runs"),
    spareDirectory: path("spare"),
    env,
    clock: realClock,
    logger: silentLogger,
    remover: createRemover(path("trash"), silentLogger),
    fallback: createSpawnStarter(env),
  });
  executor = await bed.open({ starter });
  expect((await runOnce(1, "exit 6")).end).toEqual({ kind: "exited", exitCode: 6 });
});
