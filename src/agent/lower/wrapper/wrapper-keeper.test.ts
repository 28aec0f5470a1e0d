import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, test, type TestContext } from "vitest";

import { eventually } from "../../../testing/eventually.ts";
import { processesMarked } from "../../runs/run-variable.ts";
import { parseExit, wrapperOf } from "./wrapper.ts";

const deaf = (sign: string): string =>
  `trap '' TERM HUP; echo >${sign}; while :; do sleep 0.1; done`;
const DEAF = deaf("ready");

/** A wrapper in a directory of its own, which is removed after the test. Tests mostly wait: they run at the same time. */
class Bed {
  readonly #shell: readonly string[];
  readonly directory = mkdtempSync(join(tmpdir(), "busbar-keeper-"));
  readonly mark = `${this.directory}.`;

  constructor(shell: readonly string[], { onTestFinished }: TestContext) {
    this.#shell = shell;
    onTestFinished(() => {
      for (const pid of processesMarked(this.mark)) process.kill(pid, "SIGKILL");
      rmSync(this.directory, { recursive: true, force: true });
    });
    this.order("go");
  }

  order(text: string): void {
    writeFileSync(join(this.directory, "control"), `${text}\n`);
  }

  get exit() {
    const path = join(this.directory, "exit");
    return existsSync(path) ? parseExit(readFileSync(path, "utf8")) : undefined;
  }

  /** Starts a wrapper as the leader of a group, as schedulers do, and waits until it reports that. */
  async start(text: string, argv = ["/bin/sh", "-c", text]) {
    const { directory, mark } = this;
    const work = { directory, argv, env: {}, cwd: directory, ownId: "7", mark };
    writeFileSync(join(directory, "wrapper"), wrapperOf({ ...work, writesOutput: false }));
    const [program = "", ...args] = this.#shell;
    const child = spawn(program, [...args, join(directory, "wrapper")], {
      detached: true,
      stdio: "ignore",
    });
    const pid = child.pid ?? 0;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const isReady = (): boolean =>
      existsSync(join(directory, "ready")) && existsSync(join(directory, "runner"));
    await eventually(isReady, { what: "it" });
    return { pid, ended, groupEnds: () => eventually(() => !isGroup(pid), { what: "no group" }) };
  }
}

for (const shell of [["/bin/dash"], ["/bin/bash"], ["/usr/bin/busybox", "sh"]]) {
  describe.runIf(existsSync(shell[0] ?? ""))(`beside a command, in ${shell.join(" ")}`, () => {
    test.concurrent("the last sign of a wrapper is its exit code: no process of it is left", async (context) => {
      const bed = new Bed(shell, context);
      const { ended, groupEnds } = await bed.start("echo >ready; sleep 0.3; exit 3");
      await ended;
      expect(bed.exit).toEqual({ kind: "exited", exitCode: 3 });
      await groupEnds();
    });

    test.concurrent("an order to stop kills processes that ignore TERM, in whatever session", async (context) => {
      const bed = new Bed(shell, context);
      // Both ignore TERM before they signal that they are ready.
      const inner = `(setsid sh -c "${deaf("inner")}" &); until [ -e inner ]; do sleep 0.1; done`;
      const { pid, ended, groupEnds } = await bed.start(`${inner}; ${DEAF}`);
      bed.order("stop 1 end");
      process.kill(-pid, "SIGTERM");
      await ended;
      expect(bed.exit).toEqual({ kind: "signalled", signal: "SIGKILL" });
      expect(processesMarked(bed.mark)).toEqual([]);
      await groupEnds();
    });

    test.concurrent("processes that a stopped command leaves behind are killed", async (context) => {
      const bed = new Bed(shell, context);
      const { pid, ended, groupEnds } = await bed.start(`trap 'exit 4' TERM; (${DEAF}) & wait`);
      bed.order("stop 1000 end");
      process.kill(-pid, "SIGTERM");
      await ended;
      expect(bed.exit).toEqual({ kind: "exited", exitCode: 4 });
      expect(processesMarked(bed.mark)).toEqual([]);
      await groupEnds(); // also the process that waited for the grace period
    });

    test.concurrent("a command that has dropped its environment is killed too", async (context) => {
      const bed = new Bed(shell, context);
      const { pid, ended, groupEnds } = await bed.start("", ["env", "-i", "/bin/sh", "-c", DEAF]);
      bed.order("stop 0 end");
      process.kill(-pid, "SIGTERM");
      await ended;
      expect(bed.exit).toEqual({ kind: "signalled", signal: "SIGKILL" });
      await groupEnds();
    });

    test.concurrent("when the scheduler does not send TERM, the wrapper does", async (context) => {
      const bed = new Bed(shell, context);
      const { ended, groupEnds } = await bed.start(
        "trap 'exit 5' TERM; echo >ready; while :; do sleep 0.1; done",
      );
      bed.order("stop 1000 end");
      await ended;
      expect(bed.exit).toEqual({ kind: "exited", exitCode: 5 });
      await groupEnds();
    });

    test.concurrent("a command does not outlive its wrapper", async (context) => {
      const bed = new Bed(shell, context);
      const { pid, groupEnds } = await bed.start(DEAF);
      process.kill(pid, "SIGKILL");
      await eventually(() => processesMarked(bed.mark).length === 0, { what: "no process" });
      await groupEnds();
    });

    test.concurrent("a TERM that no agent ordered does not end a command that ignores it", async (context) => {
      const bed = new Bed(shell, context);
      const { pid, ended } = await bed.start(
        `${DEAF.replace("while :", "while ! [ -e go ]")}; exit 6`,
      );
      process.kill(-pid, "SIGTERM");
      writeFileSync(join(bed.directory, "go"), "");
      await ended;
      expect(bed.exit).toEqual({ kind: "exited", exitCode: 6 });
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
