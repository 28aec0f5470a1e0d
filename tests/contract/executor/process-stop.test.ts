import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RunId, RunRequest } from "../../../src/ports/executor.ts";
import { isAlive } from "../../../src/testing/is-alive.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aRequest, endOfRun, readAll, reportFor } from "./executor-contract.ts";
import { describeLaunchers, kill, useProcessExecutor, taggedBy } from "./process-bed.ts";

const ID: RunId = { jobId: 1, index: 0, attempt: 1 };
const shell = (text: string) => ({ kind: "command", argv: ["/bin/sh", "-c", text] }) as const;

describeLaunchers("stop and output", (launcher) => {
  const own = useProcessExecutor(launcher);

  /** Starts work that prints "ready" when it is set up. */
  async function startReady(
    work: RunRequest["work"],
    over: Partial<RunRequest> = {},
  ): Promise<void> {
    own.executor.start(aRequest(work, over));
    const part = await own.executor.readOutput(ID, "stdout", {
      offset: 0,
      maxBytes: 6,
      waitMs: 10_000,
    });
    expect(Buffer.from(part.data).toString()).toBe("ready\n");
  }

  describe("stop", () => {
    test("TERM is enough for a command that handles it, and its exit code does not count as its own", async () => {
      await startReady(shell("trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done"));
      own.executor.stop(ID);
      expect((await endOfRun(own.executor, ID)).end).toEqual({
        kind: "stopped",
        signal: undefined,
      });
    });

    test("a command that dies by TERM is reported so", async () => {
      await startReady(shell("echo ready; exec sleep 1000"));
      own.executor.stop(ID);
      own.executor.stop(ID);
      expect((await endOfRun(own.executor, ID)).end).toEqual({
        kind: "stopped",
        signal: "SIGTERM",
      });
    });

    test("children and grandchildren that ignore TERM are killed after the grace period", async () => {
      const stubborn = "trap '' TERM; (sleep 1000 & sleep 1000) & sleep 1000 & echo ready; wait";
      await startReady(shell(stubborn), { killGraceMs: 50 });
      await eventually(() => own.bed.processes().length >= 4, { what: "all of them to run" });
      own.executor.stop(ID);
      expect((await endOfRun(own.executor, ID)).end).toEqual({
        kind: "stopped",
        signal: "SIGKILL",
      });
      expect(own.bed.processes()).toEqual([]);
    });

    test("a child in its own process group gets TERM too", async () => {
      const asked = "trap 'echo asked; exit' TERM; echo ready; while :; do sleep 0.05; done";
      const text = 'timeout 1000 sh -c "$0" & wait';
      const work = { kind: "command", argv: ["/bin/sh", "-c", text, asked] } as const;
      await startReady(work, { killGraceMs: 20_000 });
      own.executor.stop(ID);
      expect((await endOfRun(own.executor, ID)).end.kind).toBe("stopped");
      expect((await readAll(own.executor, ID, "stdout")).text).toBe("ready\nasked\n");
      expect(own.bed.processes()).toEqual([]);
    });

    test("a child in its own process group that ignores TERM is killed too", async () => {
      const stubborn = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
      const work = ["/bin/sh", "-c", 'timeout 1000 sh -c "$0" & wait', stubborn];
      await startReady({ kind: "command", argv: work }, { killGraceMs: 50 });
      own.executor.stop(ID);
      expect((await endOfRun(own.executor, ID)).end.kind).toBe("stopped");
      expect(own.bed.processes()).toEqual([]);
    });

    test("remaining processes get their grace period when the command ends", async () => {
      const careful =
        "trap 'sleep 0.3; echo saved; exit' TERM; echo ready; while :; do sleep 0.05; done";
      await startReady(shell(`sh -c '${careful.replaceAll("'", `'\\''`)}' & wait`), {
        killGraceMs: 20_000,
      });
      own.executor.stop(ID);
      expect((await endOfRun(own.executor, ID)).end).toEqual({
        kind: "stopped",
        signal: "SIGTERM",
      });
      expect((await readAll(own.executor, ID, "stdout")).text).toBe("ready\nsaved\n");
    });

    test("a stop right after the start ends it, at whatever stage", async () => {
      for (let jobId = 1; jobId <= 20; jobId += 1) {
        const id = { jobId, index: 0, attempt: 1 };
        own.executor.start(aRequest({ kind: "command", argv: ["sleep", "1000"] }, { id }));
        own.executor.stop(id);
        expect((await endOfRun(own.executor, id)).end.kind).toBe("stopped");
      }
      expect(own.bed.processes()).toEqual([]);
    });

    test("a time limit is reported as such, and TERM comes before KILL", async () => {
      const text = "trap 'echo asked' TERM; while :; do sleep 0.02; done";
      own.executor.start(aRequest(shell(text), { timeLimitMs: 200, killGraceMs: 300 }));
      const { end } = await endOfRun(own.executor, ID);
      expect(end).toEqual({ kind: "time-limit", signal: "SIGKILL" });
      expect((await readAll(own.executor, ID, "stdout")).text).toBe("asked\n");
    });
  });

  describe("remaining processes of a command", () => {
    test("its group is killed when it ends by itself", async () => {
      own.executor.start(aRequest(shell("trap '' TERM; sleep 1000 & exit 7")));
      expect((await endOfRun(own.executor, ID)).end).toEqual({ kind: "exited", exitCode: 7 });
      await eventually(() => own.bed.processes().length === 0, { what: "the group to be gone" });
    });

    test("a wrapper killed from outside: the run has vanished and none of its processes continues", async () => {
      await startReady(shell("echo ready; exec sleep 1000"));
      for (const pid of own.bed.wrappersOf("1.0.1")) kill(pid);
      expect((await endOfRun(own.executor, ID)).end.kind).toBe("vanished");
      await eventually(() => own.bed.processes().length === 0, { what: "the command to be gone" });
    });

    test("TERM to the whole group from outside does not lose the exit code", async () => {
      await startReady(shell("trap 'exit 42' TERM; echo ready; while :; do sleep 0.05; done"));
      process.kill(-Math.min(...own.bed.processes()), "SIGTERM");
      expect((await endOfRun(own.executor, ID)).end).toEqual({ kind: "exited", exitCode: 42 });
    });
  });

  describe("output", () => {
    test("a flood is cut while the command continues, and nothing retained is lost", async () => {
      const outputLimitBytes = 100_000;
      own.executor.start(
        aRequest({ kind: "command", argv: ["yes", "0123456789"] }, { outputLimitBytes }),
      );
      await eventually(() => own.bed.isTaken("1.0.1"), { what: "it to run" });
      const file = join(own.bed.filesOf("1.0.1"), "stdout");
      let largest = 0;
      await eventually(
        () => {
          const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
          const wasCut = size < largest;
          largest = Math.max(largest, size);
          return wasCut;
        },
        { what: "the file to be cut" },
      );
      expect(reportFor(own.executor, ID)?.kind).toBe("running");
      own.executor.stop(ID);
      await endOfRun(own.executor, ID);
      const { text, truncated } = await readAll(own.executor, ID, "stdout");
      expect(text).toBe("0123456789\n".repeat(10_000).slice(0, outputLimitBytes));
      expect(truncated).toBe(true);
      expect(statSync(file).size).toBeLessThanOrEqual(outputLimitBytes + 1);
    });

    test("waiting readers are woken by more output and by the end", async () => {
      const go = join(own.bed.directory, "go");
      own.executor.start(
        aRequest(shell(`echo one; until [ -e ${go} ]; do sleep 0.02; done; printf two`)),
      );
      const how = { maxBytes: 100, waitMs: 10_000 };
      const one = await own.executor.readOutput(ID, "stdout", { offset: 0, ...how });
      expect(Buffer.from(one.data).toString()).toBe("one\n");
      const two = own.executor.readOutput(ID, "stdout", { offset: 4, ...how });
      const none = own.executor.readOutput(ID, "stderr", { offset: 0, ...how });
      writeFileSync(go, "");
      expect(Buffer.from((await two).data).toString()).toBe("two");
      expect(await none).toEqual({ data: new Uint8Array(), eof: true, truncated: false });
    });

    test("outputs of dropped runs are bounded by count, bytes and age; the oldest are removed", async () => {
      await own.executor.close();
      let nowMs = Date.now();
      const clock = {
        nowMs: () => nowMs,
        after: (delayMs: number, wake: () => void) => {
          const timer = setTimeout(wake, Math.min(delayMs, 20));
          return () => clearTimeout(timer);
        },
      };
      const keptBounds = { runsMax: 3, bytesMax: 25, ageMsMax: 60_000 };
      own.executor = await own.bed.open({ clock, keptBounds });
      const kept = () =>
        readdirSync(join(own.bed.directory, "runs")).map((key) => Number.parseInt(key, 10));
      const runOnce = async (jobId: number, text: string) => {
        const id = { jobId, index: 0, attempt: 1 };
        own.executor.start(aRequest(shell(`printf ${text}`), { id }));
        await endOfRun(own.executor, id);
        own.executor.forget(id);
      };
      for (let jobId = 1; jobId <= 5; jobId += 1) await runOnce(jobId, "x");
      expect(kept()).toEqual([3, 4, 5]);
      await runOnce(6, "x".repeat(24));
      expect(kept()).toEqual([5, 6]);
      const gone = own.executor.readOutput({ jobId: 3, index: 0, attempt: 1 }, "stdout", {
        offset: 0,
        maxBytes: 1,
        waitMs: 0,
      });
      await expect(gone).rejects.toMatchObject({ code: "not_found" });
      nowMs += 60_000;
      await eventually(() => kept().length === 0, { what: "old outputs to go" });
      expect(existsSync(join(own.bed.directory, "runs"))).toBe(true);
    });
  });

  describe("a child that called setsid", () => {
    const file = (): string => join(own.bed.directory, "pid");
    const left = async (): Promise<number> => {
      await eventually(() => existsSync(file()) && readFileSync(file(), "utf8") !== "", {
        what: "the child to say who it is",
      });
      return Number(readFileSync(file(), "utf8"));
    };
    /** A child in its own session, and one more in another session below it. */
    const apart = (then: string): string =>
      `setsid sh -c 'trap "" TERM; setsid sleep 1000 & echo $$ >${file()}.new; ` +
      `mv ${file()}.new ${file()}; sleep 1000' & until [ -e ${file()} ]; do sleep 0.01; done; ${then}`;
    const tagged = (): number[] => taggedBy(own.bed.directory);

    test("does not survive the end of its run", async () => {
      own.executor.start(aRequest(shell(apart("exit 3"))));
      expect((await endOfRun(own.executor, ID)).end).toEqual({ kind: "exited", exitCode: 3 });
      const pid = await left();
      await eventually(() => !isAlive(pid), { what: "the child to be gone" });
      await eventually(() => tagged().length === 0, { what: "what it started to be gone" });
    });

    test("is stopped with its run, which does not end before", async () => {
      own.executor.start(aRequest(shell(apart("sleep 1000")), { killGraceMs: 300 }));
      const pid = await left();
      own.executor.stop(ID);
      expect((await endOfRun(own.executor, ID)).end.kind).toBe("stopped");
      expect(isAlive(pid)).toBe(false);
      expect(tagged()).toEqual([]);
    });

    test("of another agent's run of the same name is not touched", async () => {
      const env = { ...process.env, BUSBAR_RUN: "1-2.1.0.1", BUSBAR_TASK_ID: "1" };
      const other = spawn("sleep", ["1000"], { env, stdio: "ignore" });
      own.executor.start(aRequest(shell(apart("exit 0"))));
      await endOfRun(own.executor, ID);
      await eventually(() => tagged().length === 0, { what: "ours to be gone" });
      expect(other.exitCode ?? other.signalCode).toBeNull();
      other.kill("SIGKILL");
    });
  });

  test("hundreds at once end, and leave no descriptors or processes", async () => {
    const descriptors = () => readdirSync("/proc/self/fd").length;
    own.executor.start(aRequest({ kind: "command", argv: ["true"] }));
    await endOfRun(own.executor, ID); // by now all permanent descriptors are open
    own.executor.forget(ID);
    const before = descriptors();
    const ids = Array.from({ length: 300 }, (_, index) => ({ jobId: 5, index, attempt: 1 }));
    for (const id of ids)
      own.executor.start(aRequest({ kind: "command", argv: ["sleep", "1000"] }, { id }));
    expect(own.executor.known().length + own.executor.queued().length).toBe(300);
    // A shell is in the session of its command, a lane is not.
    const wanted = launcher === "spawn" ? 600 : 300;
    await eventually(() => own.bed.processes().length === wanted, { what: "all to run" });
    for (const id of ids) own.executor.stop(id);
    for (const id of ids) expect((await endOfRun(own.executor, id)).end.kind).toBe("stopped");
    expect(own.bed.processes()).toEqual([]);
    expect(descriptors()).toBeLessThanOrEqual(before);
  });
});
