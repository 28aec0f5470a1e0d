import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { findLauncher } from "../../../src/agent/executors/process/launchers/find-launcher.ts";
import { LaunchLogs } from "../../../src/agent/executors/process/launchers/launch-logs.ts";
import { NativeStarter } from "../../../src/agent/executors/process/launchers/native-starter.ts";
import { SpawnStarter } from "../../../src/agent/executors/process/launchers/spawn-starter.ts";
import { createRemover } from "../../../src/agent/runs/remover.ts";
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
import { describeLauncher, kill, realClock } from "./process-bed.ts";

describeLauncher("native", "launchers in C", () => {
  const setup = setUpLauncher("native");

  describe("kill -9 from outside", () => {
    async function startFour(): Promise<void> {
      for (const jobId of [1, 2, 3, 4]) {
        const text = `echo begun; ${setup.waitFor("go")}; echo done; exit ${jobId}`;
        setup.start(jobId, text);
      }
      const begun = (jobId: number): boolean =>
        reportFor(setup.executor, idOf(jobId))?.kind === "running";
      await eventually(() => [1, 2, 3, 4].every(begun), { what: "all to run" });
      await eventually(() => setup.bed.processes().length >= 4, { what: "all to be there" });
    }

    async function expectRealEnds(): Promise<void> {
      for (const jobId of [1, 2, 3, 4]) {
        expect(reportFor(setup.executor, idOf(jobId))?.kind).toBe("running");
      }
      writeFileSync(setup.path("go"), "");
      for (const jobId of [1, 2, 3, 4]) {
        expect((await endOfRun(setup.executor, idOf(jobId))).end).toEqual(exited(jobId));
        expect((await readAll(setup.executor, idOf(jobId), "stdout")).text).toBe("begun\ndone\n");
      }
    }

    test("of the launchers: they are replaced, commands continue, their real ends are reported", async () => {
      await startFour();
      const before = setup.bed.helpers("launcher");
      for (const pid of before) kill(pid);
      expect((await setup.runOnce(5, "exit 5")).end).toEqual(exited(5));
      expect(setup.bed.helpers("launcher").some((pid) => before.includes(pid))).toBe(false);
      await expectRealEnds();
      await eventually(() => setup.bed.helpers("keeper").length === 2, {
        what: "old keepers to end",
      });
    });

    test("of the keepers: launchers continue and are replaced", async () => {
      await startFour();
      const before = setup.bed.helpers("keeper");
      for (const pid of before) kill(pid);
      expect((await setup.runOnce(5, "exit 5")).end).toEqual(exited(5));
      await expectRealEnds();
      await eventually(() => setup.bed.helpers("keeper").length === 2, { what: "new keepers" });
    });

    test("of the agent and the launchers: the next agent reads outputs and real ends", async () => {
      await startFour();
      await setup.executor.close();
      for (const pid of setup.bed.helpers("launcher")) kill(pid);
      setup.executor = await setup.bed.open();
      await expectRealEnds();
    });

    test("of launchers and keepers: the runs have vanished, and none of their processes continues", async () => {
      await startFour();
      for (const pid of [...setup.bed.helpers("keeper"), ...setup.bed.helpers("launcher")])
        kill(pid);
      for (const jobId of [1, 2, 3, 4]) {
        expect((await endOfRun(setup.executor, idOf(jobId))).end.kind).toBe("vanished");
      }
      await eventually(() => setup.bed.processes().length === 0, {
        what: "the commands to be gone",
      });
      expect((await setup.runOnce(5, "exit 5")).end).toEqual(exited(5));
    });

    /** Live launchers, without their forks: a fork has the launcher's title until it runs its command. */
    const launchersInRecords = (): number[] => {
      const pids = readdirSync(setup.path("launchers")).map((name) => {
        const record = join(setup.path("launchers"), name, "record");
        const text = existsSync(record) ? readFileSync(record, "latin1") : "";
        return Number(/^l (\d+) /.exec(text)?.[1]);
      });
      return setup.bed.helpers("launcher").filter((pid) => pids.includes(pid));
    };

    test("of launchers at any moment of many starts: each runs exactly once", () =>
      expectEachOnce(setup, 200, async (jobId) => {
        await new Promise((resolve) => setTimeout(resolve, jobId % 7)); // any moment
        for (const pid of launchersInRecords().slice(0, 1)) kill(pid);
      }));
  });

  describe("launchers that the machine does not schedule", () => {
    test("are waited for: none is replaced, nothing is reported as running, then all run once", async () => {
      const pids = await setup.warmUp();
      const running: number[] = [];
      setup.executor.onReport(({ jobId }, report) => {
        if (report.kind === "running") running.push(jobId);
      });
      for (const pid of pids) kill(pid, "SIGSTOP");
      const ids = Array.from({ length: 100 }, (_, index) => idOf(index + 1));
      const text = `echo x >>${setup.path("executed")}; ${setup.waitFor("go")}`;
      for (const id of ids) setup.executor.start(aRequest(shell(text), { id }));
      await new Promise((resolve) => setTimeout(resolve, limits.claimTimeoutMs + 500));
      expect(running).toEqual([]);
      expect(setup.bed.helpers("launcher")).toEqual(pids);
      const continuedAtMs = Date.now();
      for (const pid of pids) kill(pid, "SIGCONT");
      await eventually(() => running.length === 100, { what: "all to run" });
      for (const id of ids) {
        const report = reportFor(setup.executor, id);
        expect(report?.kind === "running" && report.startedAtMs >= continuedAtMs).toBe(true);
      }
      writeFileSync(setup.path("go"), "");
      for (const id of ids) expect((await endOfRun(setup.executor, id)).end).toEqual(exited(0));
      expect(linesOf(setup.path("executed")).length).toBe(100);
      expect(setup.bed.helpers("launcher")).toEqual(pids);
    });

    test("do not delay a stop: runs that no launcher has end at once, the rest never begins", async () => {
      const pids = await setup.warmUp();
      for (const pid of pids) kill(pid, "SIGSTOP");
      const ids = Array.from({ length: 100 }, (_, index) => idOf(index + 1));
      for (const id of ids) {
        setup.executor.start(aRequest(shell(`echo x >>${setup.path("executed")}`), { id }));
      }
      await new Promise((resolve) => setImmediate(resolve));
      for (const id of ids) setup.executor.stop(id);
      const handed = limits.launchersMax * limits.launchesUnacknowledgedMax;
      const ended = () =>
        ids.filter((id) => reportFor(setup.executor, id)?.kind === "ended").length;
      await eventually(() => ended() === ids.length - handed, { what: "most to have ended" });
      for (const pid of pids) kill(pid, "SIGCONT");
      for (const id of ids) {
        expect(await endOfRun(setup.executor, id)).toMatchObject({
          startedAtMs: undefined,
          end: { kind: "stopped", signal: undefined },
        });
      }
      expect(linesOf(setup.path("executed"))).toEqual([]);
    });

    test("for very long are given up, not killed, and begin nothing when they wake", async () => {
      await setup.executor.close();
      const remover = createRemover(setup.path("trash"), silentLogger);
      const logs = new LaunchLogs(setup.path("launchers"), remover);
      const env = { PATH: "/bin:/usr/bin" };
      const common = { env, clock: realClock, logger: silentLogger };
      const fallback = new SpawnStarter(env, realClock);
      const program = findLauncher()!;
      const starter = new NativeStarter({ ...common, logs, program, fallback, stallMs: 300 });
      const gone = new Map<string, unknown>();
      const started: string[] = [];
      const start = (key: string): void => {
        const argv = ["/bin/sh", "-c", `echo ${key} >>${setup.path("executed")}; exit 4`];
        const launch = { key, directory: setup.path(`runs/${key}`), argv, env: {}, cwd: "/" };
        starter.start(
          { ...launch, script: undefined },
          (how) => gone.set(key, how),
          () => started.push(key),
        );
      };
      start("1.0.1");
      await eventually(() => gone.size === 1, { what: "the first" });
      await eventually(() => setup.bed.helpers("launcher").length === 2, {
        what: "both launchers",
      });
      const pids = setup.bed.helpers("launcher");
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
      expect(linesOf(setup.path("executed")).sort()).toEqual(["1.0.1", ...keys]);
      starter.close();
      setup.executor = await setup.bed.open();
    });
  });

  test("when the agent closes, idle launchers end, and busy ones end with their work", async () => {
    await setup.warmUp();
    setup.start(1, `${setup.waitFor("go")}; exit 3`);
    await eventually(() => setup.bed.processes().length > 0, { what: "it to run" });
    await setup.executor.close();
    await eventually(() => setup.bed.helpers("launcher").length === 1, {
      what: "the idle one to end",
    });
    await eventually(() => setup.bed.helpers("keeper").length === 1, { what: "its keeper to end" });
    setup.executor = await setup.bed.open();
    writeFileSync(setup.path("go"), "");
    expect((await endOfRun(setup.executor, idOf(1))).end).toEqual(exited(3));
  });

  test("death by INT and PIPE differs from exits with 130 and 141", () =>
    expectSignalsApart(setup));

  test("a daemon of an earlier run cannot write into the output of a later one", () =>
    expectStraysApart(setup));

  test("a slot is reused only when its run left nothing in it", async () => {
    const work = async (jobId: number, text: string): Promise<string> => {
      const { stdout } = await setup.runOnce(jobId, `pwd >${setup.path("pwd")}; ${text}`);
      setup.executor.forget(idOf(jobId));
      return `${readFileSync(setup.path("pwd"), "utf8").trim()} ${stdout}`;
    };
    const silent = [await work(1, "exit 0"), await work(2, "exit 0"), await work(3, "exit 0")];
    expect(new Set(silent).size).toBe(1);
    const dirty = [
      await work(4, ": >left"),
      await work(5, "chmod 755 ."),
      await work(6, "mkdir d"),
    ];
    for (const jobId of [7, 8, 9]) {
      const found = await work(jobId, "ls -A >&2; stat -c %a . >&2");
      expect(dirty).not.toContain(found);
      expect((await readAll(setup.executor, idOf(jobId), "stderr")).text).toBe("700\n");
    }
  });

  test("where native launchers do not start, the next kind is used", async () => {
    await setup.executor.close();
    setup.executor = await setup.bed.open({ launcherProgram: "/bin/false" });
    expect((await setup.runOnce(1, "exit 6")).end).toEqual(exited(6));
    expect(setup.bed.helpers("lane").length).toBeGreaterThan(0);
  });
});
