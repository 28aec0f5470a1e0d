import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { findLauncher } from "../../../src/agent/executors/process/find-launcher.ts";
import { LaunchLogs } from "../../../src/agent/executors/process/launch-logs.ts";
import { NativeStarter } from "../../../src/agent/executors/process/native-starter.ts";
import { createSpawnStarter } from "../../../src/agent/executors/process/spawn-starter.ts";
import { createRemover } from "../../../src/agent/runs/remover.ts";
import { limits } from "../../../src/limits.ts";
import type { Executor, RunId } from "../../../src/ports/executor.ts";
import { eventually } from "../../support/eventually.ts";
import { aRequest, endOfRun, readAll, reportFor } from "./executor-contract.ts";
import type { HostOrder } from "./executor-host.ts";
import type { ProcessBed } from "./process-bed.ts";
import { kill, makeProcessBed, realClock, silentLogger } from "./process-bed.ts";

const shell = (text: string) => ({ kind: "command", argv: ["/bin/sh", "-c", text] }) as const;
const idOf = (jobId: number): RunId => ({ jobId, index: 0, attempt: 1 });
const exited = (exitCode: number) => ({ kind: "exited", exitCode });

let bed: ProcessBed;
let executor: Executor;
beforeEach(async () => {
  bed = makeProcessBed("native");
  executor = await bed.open();
});
afterEach(async () => {
  await executor.close();
  await bed.dispose();
});

const path = (name: string): string => join(bed.directory, name);
const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
const wait = (): string => `until [ -e ${path("go")} ]; do sleep 0.02; done`;

async function runOnce(jobId: number, text: string) {
  executor.start(aRequest(shell(text), { id: idOf(jobId) }));
  const { end } = await endOfRun(executor, idOf(jobId));
  return { end, stdout: (await readAll(executor, idOf(jobId), "stdout")).text };
}

/** By now the launchers are up and have each started something. */
async function warmUp(): Promise<number[]> {
  for (const jobId of [901, 902, 903, 904]) {
    executor.start(aRequest(shell("exit 0"), { id: idOf(jobId) }));
  }
  for (const jobId of [901, 902, 903, 904]) await endOfRun(executor, idOf(jobId));
  await eventually(() => bed.helpers("launcher").length === 2, { what: "two launchers" });
  return bed.helpers("launcher");
}

describe("kill -9 by someone else", () => {
  async function startFour(): Promise<void> {
    for (const jobId of [1, 2, 3, 4]) {
      const text = `echo begun; ${wait()}; echo done; exit ${jobId}`;
      executor.start(aRequest(shell(text), { id: idOf(jobId) }));
    }
    const begun = (jobId: number): boolean => reportFor(executor, idOf(jobId))?.kind === "running";
    await eventually(() => [1, 2, 3, 4].every(begun), { what: "all to run" });
    await eventually(() => bed.processes().length >= 4, { what: "all to be there" });
  }

  async function expectRealEnds(): Promise<void> {
    for (const jobId of [1, 2, 3, 4]) {
      expect(reportFor(executor, idOf(jobId))?.kind).toBe("running");
    }
    writeFileSync(path("go"), "");
    for (const jobId of [1, 2, 3, 4]) {
      expect((await endOfRun(executor, idOf(jobId))).end).toEqual(exited(jobId));
      expect((await readAll(executor, idOf(jobId), "stdout")).text).toBe("begun\ndone\n");
    }
  }

  test("of the launchers: they are replaced, commands go on, their real ends are reported", async () => {
    await startFour();
    const before = bed.helpers("launcher");
    for (const pid of before) kill(pid);
    expect((await runOnce(5, "exit 5")).end).toEqual(exited(5));
    expect(bed.helpers("launcher").some((pid) => before.includes(pid))).toBe(false);
    await expectRealEnds();
    await eventually(() => bed.helpers("keeper").length === 2, { what: "old keepers to end" });
  });

  test("of the keepers: launchers go on and are replaced", async () => {
    await startFour();
    const before = bed.helpers("keeper");
    for (const pid of before) kill(pid);
    expect((await runOnce(5, "exit 5")).end).toEqual(exited(5));
    await expectRealEnds();
    await eventually(() => bed.helpers("keeper").length === 2, { what: "new keepers" });
  });

  test("of the agent and the launchers: the next agent reads outputs and real ends", async () => {
    await startFour();
    await executor.close();
    for (const pid of bed.helpers("launcher")) kill(pid);
    executor = await bed.open();
    await expectRealEnds();
  });

  test("of launchers and keepers: the runs have vanished, and nothing of them goes on", async () => {
    await startFour();
    for (const pid of [...bed.helpers("keeper"), ...bed.helpers("launcher")]) kill(pid);
    for (const jobId of [1, 2, 3, 4]) {
      expect((await endOfRun(executor, idOf(jobId))).end.kind).toBe("vanished");
    }
    await eventually(() => bed.processes().length === 0, { what: "the commands to be gone" });
    expect((await runOnce(5, "exit 5")).end).toEqual(exited(5));
  });

  /** Living launchers, without their forks: a fork has the launcher's title until it runs its command. */
  const launchersInRecords = (): number[] => {
    const pids = readdirSync(path("launchers")).map((name) => {
      const record = join(path("launchers"), name, "record");
      const text = existsSync(record) ? readFileSync(record, "latin1") : "";
      return Number(/^l (\d+) /.exec(text)?.[1]);
    });
    return bed.helpers("launcher").filter((pid) => pids.includes(pid));
  };

  test("of launchers at any moment of many starts: each runs exactly once", async () => {
    await warmUp();
    const ids = Array.from({ length: 200 }, (_, index) => idOf(index + 1));
    const ends = new Map<number, number>();
    executor.onReport(({ jobId }, { kind }) => {
      if (kind === "ended") ends.set(jobId, (ends.get(jobId) ?? 0) + 1);
    });
    for (const id of ids) {
      const text = `echo ${id.jobId} >>${path("executed")}; exit ${id.jobId % 100}`;
      executor.start(aRequest(shell(text), { id }));
      if (id.jobId % 20 !== 0) continue;
      await new Promise((resolve) => setTimeout(resolve, id.jobId % 7));
      for (const pid of launchersInRecords().slice(0, 1)) kill(pid);
    }
    for (const id of ids) {
      expect((await endOfRun(executor, id)).end).toEqual(exited(id.jobId % 100));
    }
    const executed = linesOf(path("executed")).map(Number);
    expect(executed.sort((a, b) => a - b)).toEqual(ids.map(({ jobId }) => jobId));
    expect([...ends.values()].every((count) => count === 1)).toBe(true);
  });
});

describe("a launcher killed at one point of a run", () => {
  const points = [
    [1, "before the fork"],
    [2, "before the command's process is in the record"],
    [3, "before that process looks whether it may begin"],
    [4, "after the command began"],
    [5, "before the end is in the record"],
    [6, "before the zombie is reaped"],
    [7, "before the agent hears of the end"],
  ] as const;
  let programs: string;
  const hosts = new Set<number>();
  const programFor = (point: number): string => join(programs, String(point));

  beforeAll(() => {
    programs = mkdtempSync(join(tmpdir(), "busbar-crash-"));
    const source = join(import.meta.dirname, "../../../native/launcher.c");
    for (const [point] of points) {
      execFileSync("cc", [`-DCRASH_AT=${point}`, "-o", programFor(point), source]);
    }
  }, 120_000);
  afterAll(() => rmSync(programs, { recursive: true }));
  afterEach(() => {
    for (const pid of hosts) kill(pid);
    hosts.clear();
  });

  const request = () =>
    aRequest(shell(`echo x >>${path("executed")}; echo said; exit 9`), { id: idOf(1) });

  for (const [point, when] of points) {
    test(`${when}: it runs once and its end is reported`, async () => {
      await executor.close();
      executor = await bed.open({ launcherProgram: programFor(point) });
      executor.start(request());
      expect((await endOfRun(executor, idOf(1))).end).toEqual(exited(9));
      expect(existsSync(path("crashed"))).toBe(true);
      expect(linesOf(path("executed"))).toEqual(["x"]);
      expect((await readAll(executor, idOf(1), "stdout")).text).toBe("said\n");
    });

    test(`${when}, and the agent with it: it runs once, by the next agent if need be`, async () => {
      await executor.close();
      const host = spawn(
        process.execPath,
        [join(import.meta.dirname, "executor-host.ts"), bed.directory, "native", programFor(point)],
        { stdio: ["pipe", "pipe", "inherit"] },
      );
      if (host.pid !== undefined) hosts.add(host.pid);
      const gone = new Promise<void>((resolve) => host.once("exit", () => resolve()));
      await createInterface({ input: host.stdout })[Symbol.asyncIterator]().next();
      const order: HostOrder = { kind: "start", request: request() };
      host.stdin.write(`${JSON.stringify(order)}\n`);
      await eventually(() => existsSync(path("crashed")), { what: "the launcher to be killed" });
      host.kill("SIGKILL");
      await gone;
      executor = await bed.open();
      executor.start(request());
      expect((await endOfRun(executor, idOf(1))).end).toEqual(exited(9));
      expect(linesOf(path("executed"))).toEqual(["x"]);
      expect((await readAll(executor, idOf(1), "stdout")).text).toBe("said\n");
    });
  }
});

describe("launchers that the machine does not let run", () => {
  test("are waited for: none is replaced, nothing reads as running, then all run once", async () => {
    const pids = await warmUp();
    const running: number[] = [];
    executor.onReport(({ jobId }, report) => {
      if (report.kind === "running") running.push(jobId);
    });
    for (const pid of pids) kill(pid, "SIGSTOP");
    const ids = Array.from({ length: 100 }, (_, index) => idOf(index + 1));
    const text = `echo x >>${path("executed")}; ${wait()}`;
    for (const id of ids) executor.start(aRequest(shell(text), { id }));
    await new Promise((resolve) => setTimeout(resolve, limits.claimTimeoutMs + 500));
    expect(running).toEqual([]);
    expect(bed.helpers("launcher")).toEqual(pids);
    const continuedAtMs = Date.now();
    for (const pid of pids) kill(pid, "SIGCONT");
    await eventually(() => running.length === 100, { what: "all to run" });
    for (const id of ids) {
      const report = reportFor(executor, id);
      expect(report?.kind === "running" && report.startedAtMs >= continuedAtMs).toBe(true);
    }
    writeFileSync(path("go"), "");
    for (const id of ids) expect((await endOfRun(executor, id)).end).toEqual(exited(0));
    expect(linesOf(path("executed")).length).toBe(100);
    expect(bed.helpers("launcher")).toEqual(pids);
  });

  test("do not hold up a stop: what was not handed over ends at once, the rest never begins", async () => {
    const pids = await warmUp();
    for (const pid of pids) kill(pid, "SIGSTOP");
    const ids = Array.from({ length: 100 }, (_, index) => idOf(index + 1));
    for (const id of ids) {
      executor.start(aRequest(shell(`echo x >>${path("executed")}`), { id }));
    }
    await new Promise((resolve) => setImmediate(resolve));
    for (const id of ids) executor.stop(id);
    const handed = limits.launchersMax * limits.launchesUnacknowledgedMax;
    const ended = () => ids.filter((id) => reportFor(executor, id)?.kind === "ended").length;
    await eventually(() => ended() === ids.length - handed, { what: "most to have ended" });
    for (const pid of pids) kill(pid, "SIGCONT");
    for (const id of ids) {
      expect(await endOfRun(executor, id)).toMatchObject({
        startedAtMs: undefined,
        end: { kind: "stopped", signal: undefined },
      });
    }
    expect(linesOf(path("executed"))).toEqual([]);
  });

  test("for very long are given up, not killed, and begin nothing when they wake", async () => {
    await executor.close();
    const remover = createRemover(path("trash"), silentLogger);
    const logs = new LaunchLogs(path("launchers"), remover);
    const env = { PATH: "/bin:/usr/bin" };
    const common = { env, clock: realClock, logger: silentLogger };
    const fallback = createSpawnStarter(env);
    const program = findLauncher()!;
    const starter = new NativeStarter({ ...common, logs, program, fallback, stallMs: 300 });
    const gone = new Map<string, unknown>();
    const started: string[] = [];
    const start = (key: string): void => {
      const argv = ["/bin/sh", "-c", `echo ${key} >>${path("executed")}; exit 4`];
      const launch = { key, directory: path(`runs/${key}`), argv, env: {}, cwd: "/" };
      starter.start(
        { ...launch, script: undefined },
        (how) => gone.set(key, how),
        () => started.push(key),
      );
    };
    start("1.0.1");
    await eventually(() => gone.size === 1, { what: "the first" });
    await eventually(() => bed.helpers("launcher").length === 2, { what: "both launchers" });
    const pids = bed.helpers("launcher");
    for (const pid of pids) kill(pid, "SIGSTOP");
    const keys = ["2.0.1", "3.0.1", "4.0.1", "5.0.1"];
    for (const key of keys) start(key);
    await eventually(() => gone.size === 5, { what: "others to run them" });
    for (const key of keys) expect(gone.get(key)).toMatchObject({ outcome: exited(4) });
    expect(pids.every((pid) => existsSync(`/proc/${pid}`))).toBe(true);
    for (const pid of pids) kill(pid, "SIGCONT");
    await eventually(() => pids.every((pid) => !existsSync(`/proc/${pid}`)), {
      what: "the old ones to end",
    });
    expect(linesOf(path("executed")).sort()).toEqual(["1.0.1", ...keys]);
    starter.close();
    executor = await bed.open();
  });
});

test("when the agent closes, idle launchers end, and busy ones when their work does", async () => {
  await warmUp();
  executor.start(aRequest(shell(`${wait()}; exit 3`), { id: idOf(1) }));
  await eventually(() => bed.processes().length > 0, { what: "it to run" });
  await executor.close();
  await eventually(() => bed.helpers("launcher").length === 1, { what: "the idle one to end" });
  await eventually(() => bed.helpers("keeper").length === 1, { what: "its keeper to end" });
  executor = await bed.open();
  writeFileSync(path("go"), "");
  expect((await endOfRun(executor, idOf(1))).end).toEqual(exited(3));
});

test("death by INT and PIPE is told from exits with 130 and 141", async () => {
  let jobId = 0;
  for (const [name, number] of [
    ["INT", 130],
    ["PIPE", 141],
  ] as const) {
    const died = await runOnce((jobId += 1), `kill -${name} $$`);
    expect(died.end).toEqual({ kind: "signalled", signal: `SIG${name}` });
    expect((await runOnce((jobId += 1), `exit ${number}`)).end).toEqual(exited(number));
  }
});

test("a daemon of an earlier run cannot write into the output of a later one", async () => {
  for (const jobId of [1, 2, 3, 4]) {
    const out = path(`out-${jobId}`);
    const stray = `: >${out}; ${wait()}; echo stray; : >${out}.written`;
    const until = `until [ -e ${out} ]; do sleep 0.01; done`;
    await runOnce(jobId, `setsid sh -c '${stray}' & ${until}`);
    executor.forget(idOf(jobId));
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

test("a slot is used again only when its run left nothing in it", async () => {
  const work = async (jobId: number, text: string): Promise<string> => {
    const { stdout } = await runOnce(jobId, `pwd >${path("pwd")}; ${text}`);
    executor.forget(idOf(jobId));
    return `${readFileSync(path("pwd"), "utf8").trim()} ${stdout}`;
  };
  const silent = [await work(1, "exit 0"), await work(2, "exit 0"), await work(3, "exit 0")];
  expect(new Set(silent).size).toBe(1);
  const dirty = [await work(4, ": >left"), await work(5, "chmod 755 ."), await work(6, "mkdir d")];
  for (const jobId of [7, 8, 9]) {
    const found = await work(jobId, "ls -A >&2; stat -c %a . >&2");
    expect(dirty).not.toContain(found);
    expect((await readAll(executor, idOf(jobId), "stderr")).text).toBe("700\n");
  }
});

test("where native launchers do not come up, the next kind is used", async () => {
  await executor.close();
  executor = await bed.open({ launcherProgram: "/bin/false" });
  expect((await runOnce(1, "exit 6")).end).toEqual(exited(6));
  expect(bed.helpers("lane").length).toBeGreaterThan(0);
});
