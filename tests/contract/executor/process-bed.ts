import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ProcessExecutorOptions } from "../../../src/agent/executors/process/process-executor.ts";
import { createProcessExecutor } from "../../../src/agent/executors/process/process-executor.ts";
import { membersOf } from "../../../src/agent/proc.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Executor } from "../../../src/ports/executor.ts";
import type { Logger } from "../../../src/ports/logger.ts";
import { eventually } from "../../support/eventually.ts";
import type { ExecutorBed } from "./executor-contract.ts";

export const realClock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, wake) {
    const timer = setTimeout(wake, delayMs);
    return () => clearTimeout(timer);
  },
};

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export interface ProcessBed extends ExecutorBed {
  readonly directory: string;
  open(over?: Partial<ProcessExecutorOptions>): Promise<Executor>;
  /** Pids of everything that runs in the sessions of this bed's runs. */
  processes(): number[];
}

/** A temporary directory of runs, and whatever runs from it. */
export function makeProcessBed(): ProcessBed {
  const directory = mkdtempSync(join(tmpdir(), "busbar-executor-"));
  const sessions = new Set<number>(); // also of runs whose state was removed since

  function processes(): number[] {
    const runs = join(directory, "runs");
    for (const run of existsSync(runs) ? readdirSync(runs) : []) {
      const state = join(runs, run, "state");
      const pid = existsSync(state) ? Number.parseInt(readFileSync(state, "latin1"), 10) : 0;
      if (pid > 0) sessions.add(pid);
    }
    return [...membersOf(sessions).values()].flat().map(({ pid }) => pid);
  }

  return {
    directory,
    processes,
    open: (over = {}) =>
      createProcessExecutor({ directory, clock: realClock, logger: silentLogger, ...over }),
    // Within one process the nearest thing to kill -9; process-restart.test.ts has the real one.
    async abandon(executor) {
      await executor.close();
    },
    async dispose() {
      await eventually(
        () => {
          const left = processes();
          for (const pid of left) kill(pid);
          return left.length === 0;
        },
        { what: "the processes of a test to go" },
      );
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export function kill(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // gone by itself
  }
}
