import { spawn } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { PERLS } from "../../../src/agent/executors/process/launchers/launcher-script.ts";
import { PoolStarter } from "../../../src/agent/executors/process/launchers/pool-starter.ts";
import { createRemover } from "../../../src/agent/runs/remover.ts";
import { SpawnStarter } from "../../../src/agent/executors/process/launchers/spawn-starter.ts";
import type { ProcessStarter } from "../../../src/agent/executors/process/launchers/starter.ts";
import { findLauncher } from "../../../src/agent/executors/process/launchers/find-launcher.ts";
import { LaunchLogs } from "../../../src/agent/executors/process/launchers/launch-logs.ts";
import { NativeStarter } from "../../../src/agent/executors/process/launchers/native-starter.ts";
import { identityOf } from "../../../src/agent/proc.ts";
import type { Executor, RunId, RunRequest } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aRequest, endOfRun, readAll, reportFor } from "./executor-contract.ts";
import type { HostOrder } from "./executor-host.ts";
import type { ProcessBed } from "./process-bed.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";
import { describeLaunchers, kill, makeProcessBed, realClock } from "./process-bed.ts";

const ID: RunId = { jobId: 1, index: 0, attempt: 1 };
const shell = (text: string) => ({ kind: "command", argv: ["/bin/sh", "-c", text] }) as const;

describeLaunchers("agents come and go", (launcher) => {
  let bed: ProcessBed;
  let executor: Executor | undefined;
  const hosts = new Set<number>();
  const late: ProcessStarter[] = [];
  let starters = 0;

  beforeEach(() => {
    bed = makeProcessBed(launcher);
  });
  afterEach(async () => {
    for (const pid of hosts) kill(pid);
    hosts.clear();
    for (const starter of late.splice(0)) starter.close();
    await executor?.close();
    executor = undefined;
    await bed.dispose();
  });

  interface Host {
    order(order: HostOrder): Promise<ReturnType<Executor["known"]>>;
    /** Without waiting for an answer. */
    tell(order: HostOrder): void;
    kill9(): Promise<void>;
  }

  async function openHost(): Promise<Host> {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, "executor-host.ts"), bed.directory, launcher],
      {
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    if (child.pid !== undefined) hosts.add(child.pid);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const answer = async () => JSON.parse((await lines.next()).value ?? "[]");
    await answer();
    const tell = (order: HostOrder): void => void child.stdin.write(`${JSON.stringify(order)}\n`);
    return {
      tell,
      async order(order) {
        tell(order);
        return await answer();
      },
      async kill9() {
        child.kill("SIGKILL");
        await gone;
        if (child.pid !== undefined) hosts.delete(child.pid);
      },
    };
  }

  /** As the executor makes them. */
  function makeStarter(): ProcessStarter {
    const env = { PATH: "/bin:/usr/bin" };
    const fallback = new SpawnStarter(env, realClock);
    if (launcher === "spawn") return fallback;
    if (launcher === "native") {
      const remover = createRemover(join(bed.directory, "trash"), silentLogger);
      const logs = new LaunchLogs(join(bed.directory, "launchers"), remover);
      logs.recover();
      const program = findLauncher()!;
      return new NativeStarter({
        program,
        logs,
        env,
        clock: realClock,
        logger: silentLogger,
        fallback,
      });
    }
    const runsDirectory = join(bed.directory, "runs");
    const spareDirectory = join(bed.directory, "spare", String((starters += 1)));
    const remover = createRemover(join(bed.directory, "trash"), silentLogger);
    const rest = { clock: realClock, logger: silentLogger, remover, fallback };
    return new PoolStarter({ perl: PERLS[0], runsDirectory, spareDirectory, env, ...rest });
  }

  const start = (work: RunRequest["work"], over: Partial<RunRequest> = {}): HostOrder => ({
    kind: "start",
    request: aRequest(work, over),
  });

  const isTaken = (key = "1.0.1"): boolean => bed.isTaken(key);

  describe("after kill -9 of the agent", () => {
    test("processes continue and their real ends are reported, by exit code and by signal", async () => {
      const go = join(bed.directory, "go");
      const wait = `until [ -e ${go} ]; do sleep 0.02; done`;
      const host = await openHost();
      const ids = [0, 1, 2].map((index) => ({ jobId: 1, index, attempt: 1 }));
      await host.order(start(shell(`${wait}; echo done; exit 9`), { id: ids[0]! }));
      await host.order(start(shell(`${wait}; kill -KILL $$`), { id: ids[1]! }));
      await host.order(start(shell(`kill -TERM $$`), { id: ids[2]! }));
      await host.kill9();
      executor = await bed.open();
      expect(reportFor(executor, ids[0]!)?.kind).toBe("running");
      writeFileSync(go, "");
      expect((await endOfRun(executor, ids[0]!)).end).toEqual({ kind: "exited", exitCode: 9 });
      expect((await endOfRun(executor, ids[1]!)).end).toEqual({
        kind: "signalled",
        signal: "SIGKILL",
      });
      expect((await endOfRun(executor, ids[2]!)).end).toEqual({
        kind: "signalled",
        signal: "SIGTERM",
      });
      expect((await readAll(executor, ids[0]!, "stdout")).text).toBe("done\n");
    });

    test("a time limit is still enforced, also one that passed meanwhile", async () => {
      const host = await openHost();
      const stubborn = shell("trap '' TERM; echo ready; while :; do sleep 0.02; done");
      await host.order(start(stubborn, { timeLimitMs: 1_500, killGraceMs: 100 }));
      await eventually(() => isTaken(), { what: "the run to be taken" });
      await host.kill9();
      executor = await bed.open();
      expect((await endOfRun(executor, ID)).end).toEqual({
        kind: "time-limit",
        signal: "SIGKILL",
      });
      expect(bed.processes()).toEqual([]);
    });

    test("a stop that was under way is completed and reported as stopped", async () => {
      const host = await openHost();
      const go = join(bed.directory, "ready");
      const stubborn = shell(`trap '' TERM; : >${go}; while :; do sleep 0.02; done`);
      await host.order(start(stubborn, { killGraceMs: 300 }));
      await eventually(() => existsSync(go), { what: "the command to ignore TERM" });
      await host.order({ kind: "stop", id: ID });
      await host.kill9();
      executor = await bed.open();
      expect((await endOfRun(executor, ID)).end).toEqual({ kind: "stopped", signal: "SIGKILL" });
      expect(bed.processes()).toEqual([]);
    });

    test("killed at any moment of a start, work runs once or is started again", async () => {
      const executed = join(bed.directory, "executed");
      for (let round = 0; round < 8; round += 1) {
        const id = { jobId: round + 1, index: 0, attempt: 1 };
        const request = aRequest(shell(`echo ${round} >>${executed}; sleep 0.1`), { id });
        const host = await openHost();
        host.tell({ kind: "start", request });
        await eventually(() => round % 2 === 0 || isTaken(`${id.jobId}.0.1`), {
          what: "every other run to be taken",
        });
        await host.kill9();
        executor = await bed.open();
        executor.start(request);
        expect((await endOfRun(executor, id)).end).toEqual({ kind: "exited", exitCode: 0 });
        await executor.close();
        expect(readFileSync(executed, "utf8").split("\n").length).toBe(round + 2);
      }
    });

    test("the directory is free again; while the agent lives it is not", async () => {
      const host = await openHost();
      const pid = [...hosts][0]!;
      await expect(bed.open()).rejects.toMatchObject({ code: "conflict" });
      await expect(bed.open()).rejects.toThrow(`pid ${pid}`);
      await host.kill9();
      executor = await bed.open();
      await expect(bed.open()).rejects.toMatchObject({ code: "conflict" });
    });
  });

  describe("a run belongs to the wrapper that claimed it", () => {
    // Native launchers have no claims by name: LaunchLog.close decides which of them may begin a run, see native-launcher.test.ts.
    const hasClaims = launcher !== "native";

    test.runIf(hasClaims)("of two wrappers that race, one executes", async () => {
      const executed = join(bed.directory, "executed");
      const directory = join(bed.directory, "runs", "1.0.1");
      mkdirSync(join(bed.directory, "runs"), { recursive: true });
      const starters = Array.from({ length: 8 }, () => makeStarter());
      const argv = ["/bin/sh", "-c", `echo x >>${executed}; sleep 0.1`];
      const launch = { key: "1.0.1", directory, argv, env: {}, cwd: "/", script: undefined };
      const gone: string[] = [];
      for (const starter of starters)
        starter.start(
          launch,
          ({ kind }) => gone.push(kind),
          () => undefined,
        );
      await eventually(() => gone.length === 8, { what: "all wrappers to be gone" });
      for (const starter of starters) starter.close();
      expect(readFileSync(executed, "utf8")).toBe("x\n");
    });

    test("start of a run that a wrapper holds, after the journal was lost, adopts it", async () => {
      executor = await bed.open();
      const request = aRequest(shell("echo once; sleep 0.3; exit 3"));
      executor.start(request);
      await eventually(() => isTaken(), { what: "the run to be taken" });
      await executor.close();
      rmSync(join(bed.directory, "journal.ndjson"));
      executor = await bed.open();
      expect(reportFor(executor, ID)?.kind).toBe("running");
      executor.start(request);
      expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 3 });
      expect((await readAll(executor, ID, "stdout")).text).toBe("once\n");
    });

    test.runIf(hasClaims)(
      "a start that loses against a wrapper of an earlier process reports that one's end",
      async () => {
        executor = await bed.open();
        const other = makeStarter();
        const own = makeStarter();
        await executor.close();
        // The other wrapper claims the run before our own does.
        executor = await bed.open({
          starter: {
            start(ours, onGone, onStarted) {
              other.start(
                { ...ours, argv: ["sh", "-c", "exit 5"] },
                () => undefined,
                () => undefined,
              );
              void eventually(() => isTaken(), { what: "the other to take it" }).then(() =>
                own.start(ours, onGone, onStarted),
              );
            },
            cancel: () => false,
            recycle: () => false,
            close() {
              other.close();
              own.close();
            },
          },
        });
        executor.start(aRequest(shell("exit 6")));
        expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 5 });
      },
    );

    /** An executor whose wrappers start only when the test lets them, as on a busy machine. */
    async function openSlow(): Promise<{ slow: Executor; comes: () => void }> {
      const launches: (() => void)[] = [];
      const slow = await bed.open({
        starter: {
          start(launch) {
            launches.push(() =>
              starter.start(
                launch,
                () => undefined,
                () => undefined,
              ),
            );
          },
          cancel: () => false,
          recycle: () => false,
          close: () => undefined,
        },
      });
      const starter = makeStarter();
      late.push(starter);
      return { slow, comes: () => launches.forEach((launch) => launch()) };
    }

    test("a wrapper still starting when the agent died is waited for", async () => {
      const { slow, comes } = await openSlow();
      slow.start(aRequest(shell("exit 3")));
      await slow.close();
      const opening = bed.open();
      comes();
      executor = await opening;
      expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 3 });
    });

    test("a wrapper that starts too late does not execute, and the run may be started again", async () => {
      const executed = join(bed.directory, "executed");
      const { slow, comes } = await openSlow();
      slow.start(aRequest(shell(`echo late >>${executed}`)));
      await slow.close();
      executor = await bed.open();
      expect(executor.known()).toEqual([]);
      comes();
      executor.start(aRequest(shell(`echo again >>${executed}; exit 4`)));
      const { end } = await endOfRun(executor, ID);
      // Either wrapper may claim the restarted run; never both.
      expect(["exited", "could-not-start"]).toContain(end.kind);
      expect(readFileSync(executed, "utf8").split("\n").length).toBe(2);
    });

    test("a process with the same pid but another start time is unrelated", async () => {
      const stranger = spawn("sleep", ["1000"]);
      try {
        executor = await bed.open();
        executor.start(aRequest(shell("exec sleep 1000")));
        const wanted = launcher === "spawn" ? 2 : 1;
        await eventually(() => bed.processes().length === wanted, { what: "it to run" });
        await executor.close();
        for (const pid of [...bed.wrappersOf("1.0.1"), ...bed.processes()]) kill(pid);
        const { startTicks } = identityOf(stranger.pid!)!;
        const stat = readFileSync(`/proc/${stranger.pid}/stat`, "latin1");
        if (launcher === "native") {
          const record = join(bed.filesOf("1.0.1"), "..", "record");
          const who = `${stranger.pid} 1`;
          writeFileSync(record, `l ${who} ${who}\ns 1.0.1 1 ${who} 1 1\n`);
        } else {
          const state = join(bed.filesOf("1.0.1"), "state");
          writeFileSync(state, stat.replace(` ${startTicks} `, " 1 "));
        }
        executor = await bed.open();
        expect((await endOfRun(executor, ID)).end.kind).toBe("vanished");
        expect(identityOf(stranger.pid!)).toBeDefined();
      } finally {
        stranger.kill("SIGKILL");
      }
    });
  });

  describe("after a restart of the machine", () => {
    test("a running run has vanished; an ended one keeps its end; one that never began may start", async () => {
      const host = await openHost();
      const ended = { jobId: 2, index: 0, attempt: 1 };
      const begun = { jobId: 3, index: 0, attempt: 1 };
      await host.order(start(shell("sleep 1000")));
      await host.order(start(shell("exit 8"), { id: ended }));
      await eventually(() => isTaken(), { what: "the run to be taken" });
      await eventually(() => bed.hasEnded("2.0.1"), { what: "the other to end" });
      await host.kill9();
      // Helpers first, as they would report the death of the commands.
      const helpers = (["keeper", "launcher", "lane"] as const).flatMap((kind) =>
        bed.helpers(kind),
      );
      for (const pid of [...helpers, ...bed.processes()]) kill(pid);
      const terms = { program: "x", startedAtMs: 1, killGraceMs: 1, outputLimitBytes: 1 };
      appendFileSync(
        join(bed.directory, "journal.ndjson"),
        `${JSON.stringify({ kind: "started", key: "3.0.1", terms })}\n{"kind":"ended","ke`,
      );
      executor = await bed.open({ bootId: "another boot" });
      const { end } = await endOfRun(executor, ID);
      expect(end).toEqual({ kind: "vanished", message: "the machine was restarted" });
      expect((await endOfRun(executor, ended)).end).toEqual({ kind: "exited", exitCode: 8 });
      expect(reportFor(executor, begun)).toBeUndefined();
      executor.start(aRequest(shell("exit 4"), { id: begun }));
      expect((await endOfRun(executor, begun)).end).toEqual({ kind: "exited", exitCode: 4 });
    });
  });

  test("the journal does not grow with the number of runs", async () => {
    const journal = join(bed.directory, "journal.ndjson");
    executor = await bed.open({ keptBounds: { runsMax: 2, bytesMax: 1_000, ageMsMax: 1e9 } });
    for (let jobId = 1; jobId <= 20; jobId += 1) {
      const id = { jobId, index: 0, attempt: 1 };
      executor.start(aRequest({ kind: "command", argv: ["true"] }, { id }));
      await endOfRun(executor, id);
      executor.forget(id);
    }
    await executor.close();
    executor = await bed.open({ clock: realClock });
    expect(readFileSync(journal, "utf8").split("\n").length).toBeLessThanOrEqual(5);
  });
});
