import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type {
  LauncherKind,
  ProcessExecutorOptions,
} from "../../../src/agent/executors/process/process-executor.ts";
import { createProcessExecutor } from "../../../src/agent/executors/process/process-executor.ts";
import { readStateFile } from "../../../src/agent/executors/process/state-file.ts";
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
  readonly launcher: LauncherKind;
  open(over?: Partial<ProcessExecutorOptions>): Promise<Executor>;
  /** Pids of everything that runs in the sessions of this bed's runs. */
  processes(): number[];
  /** The pid of who waits for the command of a run. */
  wrapperOf(key: string): number | undefined;
  /** Pids of this bed's launchers, or of their lanes. */
  helpers(kind: "launcher" | "lane"): number[];
}

export const launchers: readonly LauncherKind[] = ["pool", "spawn"];

/** A temporary directory of runs, and whatever runs from it. */
export function makeProcessBed(launcher: LauncherKind): ProcessBed {
  const directory = mkdtempSync(join(tmpdir(), "busbar-executor-"));
  const sessions = new Set<number>(); // also of runs whose state was removed since

  const stateOf = (key: string) => readStateFile(join(directory, "runs", key));

  function processes(): number[] {
    const runs = join(directory, "runs");
    for (const run of existsSync(runs) ? readdirSync(runs) : []) {
      const session = stateOf(run)?.session;
      if (session !== undefined) sessions.add(session.pid);
    }
    return [...membersOf(sessions).values()].flat().map(({ pid }) => pid);
  }

  return {
    directory,
    launcher,
    processes,
    helpers: (kind) => helpersOf(directory, kind),
    wrapperOf: (key) => stateOf(key)?.wrapper?.pid,
    open: (over = {}) =>
      createProcessExecutor({
        directory,
        clock: realClock,
        logger: silentLogger,
        launcher,
        ...over,
      }),
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
      await eventually(
        () => helpersOf(directory, "launcher").length + helpersOf(directory, "lane").length === 0,
        { what: "launchers and lanes to end by themselves" },
      );
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** They tell in their command lines whose they are. */
export function helpersOf(directory: string, kind: "launcher" | "lane"): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const title = readFileSync(`/proc/${pid}/cmdline`, "latin1");
        return title.startsWith(`busbar ${kind} ${directory}/`);
      } catch {
        return false; // gone while we looked
      }
    });
}

export function kill(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // gone by itself
  }
}
