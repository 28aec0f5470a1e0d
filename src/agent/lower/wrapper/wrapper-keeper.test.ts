import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { eventually } from "../../../testing/eventually.ts";
import { processesMarked } from "../../runs/run-variable.ts";
import { parseExit, wrapperOf } from "./wrapper.ts";

const deaf = (sign: string): string =>
  `trap '' TERM HUP; echo >${sign}; while :; do sleep 0.1; done`;
const DEAF = deaf("ready");

for (const shell of [["/bin/dash"], ["/bin/bash"], ["/usr/bin/busybox", "sh"]]) {
  describe.runIf(existsSync(shell[0] ?? ""))(`beside a command, in ${shell.join(" ")}`, () => {
    let directory: string;
    let mark: string;
    beforeEach(() => {
      directory = mkdtempSync(join(tmpdir(), "busbar-keeper-"));
      mark = `${directory}.`;
      order("go");
    });
    afterEach(() => {
      for (const pid of processesMarked(mark)) process.kill(pid, "SIGKILL");
      rmSync(directory, { recursive: true, force: true });
    });

    const order = (text: string): void => writeFileSync(join(directory, "control"), `${text}\n`);
    const exit = () => {
      const path = join(directory, "exit");
      return existsSync(path) ? parseExit(readFileSync(path, "utf8")) : undefined;
    };
    const isReady = (): boolean => existsSync(join(directory, "ready"));

    /** Starts a wrapper as the leader of a group, as schedulers do, and waits until it reports that. */
    async function start(text: string, argv = ["/bin/sh", "-c", text]) {
      const work = { directory, argv, env: {}, cwd: directory, ownId: "7", mark };
      writeFileSync(join(directory, "wrapper"), wrapperOf({ ...work, writesOutput: false }));
      const [program = "", ...args] = shell;
      const child = spawn(program, [...args, join(directory, "wrapper")], {
        detached: true,
        stdio: "ignore",
      });
      const pid = child.pid ?? 0;
      const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
      await eventually(() => isReady() && existsSync(join(directory, "runner")), { what: "it" });
      return { pid, ended, groupEnds: () => eventually(() => !isGroup(pid), { what: "no group" }) };
    }

    test("the last sign of a wrapper is its exit code: no process of it is left", async () => {
      const { ended, groupEnds } = await start("echo >ready; sleep 0.3; exit 3");
      await ended;
      expect(exit()).toEqual({ kind: "exited", exitCode: 3 });
      await groupEnds();
    });

    test("an order to stop kills processes that ignore TERM, in whatever session", async () => {
      // Both ignore TERM before they signal that they are ready.
      const inner = `(setsid sh -c "${deaf("inner")}" &); until [ -e inner ]; do sleep 0.1; done`;
      const { pid, ended, groupEnds } = await start(`${inner}; ${DEAF}`);
      order("stop 1 end");
      process.kill(-pid, "SIGTERM");
      await ended;
      expect(exit()).toEqual({ kind: "signalled", signal: "SIGKILL" });
      expect(processesMarked(mark)).toEqual([]);
      await groupEnds();
    });

    test("processes that a stopped command leaves behind are killed", async () => {
      const { pid, ended, groupEnds } = await start(`trap 'exit 4' TERM; (${DEAF}) & wait`);
      order("stop 1000 end");
      process.kill(-pid, "SIGTERM");
      await ended;
      expect(exit()).toEqual({ kind: "exited", exitCode: 4 });
      expect(processesMarked(mark)).toEqual([]);
      await groupEnds(); // also the process that waited for the grace period
    });

    test("a command that has dropped its environment is killed too", async () => {
      const { pid, ended, groupEnds } = await start("", ["env", "-i", "/bin/sh", "-c", DEAF]);
      order("stop 0 end");
      process.kill(-pid, "SIGTERM");
      await ended;
      expect(exit()).toEqual({ kind: "signalled", signal: "SIGKILL" });
      await groupEnds();
    });

    test("when the scheduler does not send TERM, the wrapper does", async () => {
      const { ended, groupEnds } = await start(
        "trap 'exit 5' TERM; echo >ready; while :; do sleep 0.1; done",
      );
      order("stop 1000 end");
      await ended;
      expect(exit()).toEqual({ kind: "exited", exitCode: 5 });
      await groupEnds();
    });

    test("a command does not outlive its wrapper", async () => {
      const { pid, groupEnds } = await start(DEAF);
      process.kill(pid, "SIGKILL");
      await eventually(() => processesMarked(mark).length === 0, { what: "no process" });
      await groupEnds();
    });

    test("a TERM that no agent ordered does not end a command that ignores it", async () => {
      const { pid, ended } = await start(`${DEAF.replace("while :", "while ! [ -e go ]")}; exit 6`);
      process.kill(-pid, "SIGTERM");
      writeFileSync(join(directory, "go"), "");
      await ended;
      expect(exit()).toEqual({ kind: "exited", exitCode: 6 });
    });
  });
}

function isGroup(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}
