import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe } from "vitest";

import type {
  LauncherKind,
  ProcessExecutorOptions,
} from "../../../src/agent/executors/process/process-executor.ts";
import { createProcessExecutor } from "../../../src/agent/executors/process/process-executor.ts";
import { C_COMPILER, whyNoLauncher } from "../../../native/compile.ts";
import { LaunchLog } from "../../../src/agent/executors/process/launchers/launch-log.ts";
import { runTagOf } from "../../../src/agent/executors/process/survivors.ts";
import { RUN_VARIABLE } from "../../../src/agent/runs/run-variable.ts";
import { readStateFile } from "../../../src/agent/executors/process/state-file.ts";
import { membersOf } from "../../../src/agent/proc.ts";
import type { Executor } from "../../../src/ports/executor.ts";
import { createSystemClock } from "../../../src/system/clock.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import type { ExecutorBed } from "./executor-contract.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";

export const realClock = createSystemClock();

export interface ProcessBed extends ExecutorBed {
  readonly directory: string;
  readonly launcher: LauncherKind;
  open(over?: Partial<ProcessExecutorOptions>): Promise<Executor>;
  /** The pids of all processes in the sessions of this bed's runs. */
  processes(): number[];
  /** The pids of the processes that wait for the command of a run. */
  wrappersOf(key: string): number[];
  /** Whether a wrapper has claimed the run, and whether it has recorded its end. */
  isTaken(key: string): boolean;
  hasEnded(key: string): boolean;
  /** The path of the output of an active run. */
  filesOf(key: string): string;
  helpers(kind: HelperKind): number[];
}

/** Without a native launcher "native" would mean Perl: the same would be tested twice. */
const noLauncher = whyNoLauncher();
const noCompiler = isThere(C_COMPILER) ? undefined : `there is no C compiler ${C_COMPILER}`;

function isThere(command: string): boolean {
  return spawnSync(command, ["--version"], { stdio: "ignore" }).error === undefined;
}

/** Skips the block where something is missing, with the reason in its name. */
function describeUnless(why: string | undefined, name: string, body: () => void): void {
  if (why === undefined) describe(name, body);
  else describe.skip(`${name} (skipped: ${why})`, body);
}

/** A block of tests of one kind of launcher; those of the native one need a C compiler. */
export const describeLauncher = (launcher: LauncherKind, name: string, body: () => void): void =>
  describeUnless(launcher === "native" ? noLauncher : undefined, name, body);

/** The same block for each kind of launcher. */
export function describeLaunchers(name: string, body: (launcher: LauncherKind) => void): void {
  for (const launcher of ["native", "perl", "spawn"] as const) {
    describeLauncher(launcher, `${name}, launcher ${launcher}`, () => body(launcher));
  }
}

/** A block of tests that compile their own launchers. */
export const describeWithCompiler = (name: string, body: () => void): void =>
  describeUnless(noLauncher ?? noCompiler, name, body);

/** Launchers, the lanes of those in Perl, and the keepers of those in C. */
export type HelperKind = "launcher" | "lane" | "keeper";

/** A temporary directory of runs, and the processes that run from it. */
export function makeProcessBed(launcher: LauncherKind): ProcessBed {
  const directory = mkdtempSync(join(tmpdir(), "busbar-executor-"));
  const sessions = new Set<number>(); // also of runs whose state was removed since

  const namesIn = (name: string): string[] =>
    existsSync(join(directory, name)) ? readdirSync(join(directory, name)) : [];

  /** The launcher that has the run in its record. */
  function logOf(key: string): LaunchLog | undefined {
    for (const name of namesIn("launchers")) {
      const log = new LaunchLog(join(directory, "launchers", name), true);
      log.read();
      if (log.runs.has(key)) return log;
    }
    return undefined;
  }

  function stateOf(key: string) {
    const log = logOf(key);
    const run = log?.runs.get(key);
    if (log === undefined || run === undefined) return readStateFile(join(directory, "runs", key));
    const [wrapper, keeper] = log.wrappers;
    return { wrapper, keeper, session: run.session, outcome: run.outcome };
  }

  function processes(): number[] {
    for (const run of namesIn("runs")) {
      const session = readStateFile(join(directory, "runs", run))?.session;
      if (session !== undefined) sessions.add(session.pid);
    }
    for (const name of namesIn("launchers")) {
      const log = new LaunchLog(join(directory, "launchers", name), true);
      log.read();
      for (const { session } of log.runs.values()) if (session) sessions.add(session.pid);
    }
    return [...membersOf(sessions).values()].flat().map(({ pid }) => pid);
  }

  return {
    directory,
    launcher,
    processes,
    helpers: (kind) => helpersOf(directory, kind),
    wrappersOf(key) {
      const { wrapper, keeper } = stateOf(key) ?? {};
      // The keeper first, or it would report the death of the command.
      return [keeper?.pid, wrapper?.pid].filter((pid) => pid !== undefined);
    },
    isTaken: (key) => stateOf(key) !== undefined,
    hasEnded: (key) => stateOf(key)?.outcome !== undefined,
    filesOf(key) {
      const log = logOf(key);
      const run = log?.runs.get(key);
      return log === undefined || run === undefined
        ? join(directory, "runs", key)
        : log.directoryOf(run);
    },
    open: (over = {}) =>
      createProcessExecutor({
        directory,
        clock: realClock,
        logger: silentLogger,
        launcher,
        ...over,
      }),
    // The closest to kill -9 within one process; process-restart.test.ts has the real one.
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
      await eventually(() => HELPERS.every((kind) => helpersOf(directory, kind).length === 0), {
        what: "launchers and lanes to end by themselves",
      });
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export const HELPERS = ["launcher", "lane", "keeper"] as const;

/** Their command lines show their owners. */
export function helpersOf(directory: string, kind: HelperKind): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const title = readFileSync(`/proc/${pid}/cmdline`, "latin1");
        return title.startsWith(`busbar ${kind} ${directory}/`);
      } catch {
        return false; // ended while we looked
      }
    });
}

/** Processes of the runs of this directory, in any session. */
export function taggedBy(directory: string): number[] {
  const tag = `${RUN_VARIABLE}=${runTagOf(directory)}.`;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "latin1").includes(tag);
      } catch {
        return false; // ended while we looked
      }
    });
}

export function kill(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // ended by itself
  }
}

/** A bed with an executor for each test of the block in which it is called. */
export function useProcessExecutor(launcher: LauncherKind): {
  bed: ProcessBed;
  executor: Executor;
} {
  const own = {} as { bed: ProcessBed; executor: Executor };
  beforeEach(async () => {
    own.bed = makeProcessBed(launcher);
    own.executor = await own.bed.open();
  });
  afterEach(async () => {
    await own.executor.close();
    await own.bed.dispose();
  });
  return own;
}
