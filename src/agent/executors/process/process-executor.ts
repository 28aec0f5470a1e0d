import { existsSync } from "node:fs";
import { join } from "node:path";

import type { Clock } from "../../../ports/clock.ts";
import type { Executor } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import { describeChain } from "../../../lib/errors.ts";
import { AppError } from "../../../lib/errors.ts";
import { readBootId } from "../../proc.ts";
import type { KeptBounds } from "../../runs/ledger/kept-outputs.ts";
import { KEPT_BOUNDS } from "../../runs/ledger/kept-outputs.ts";
import type { AgentEnv } from "../../runs/task-env.ts";
import { taskEnvOf } from "../../runs/task-env.ts";
import { lockDirectory } from "../../runs/lock.ts";
import { SHARED_MEMORY } from "../../runs/progress/progress-directory.ts";
import { removeProgressLeftovers } from "../../runs/progress/progress-leftovers.ts";
import type { CgroupFiles } from "./cgroups/cgroup-files.ts";
import type { Enforce, Enforcement } from "./cgroups/enforcement.ts";
import { describeEnforcement, NOTHING_ENFORCED } from "./cgroups/enforcement.ts";
import { enforcementHere } from "./cgroups/enforcement-here.ts";
import { AttachedRuns } from "./attach/attached-runs.ts";
import { runKey } from "../../runs/run-key.ts";
import { findAttach, findLauncher } from "./launchers/find-launcher.ts";
import { LaunchLogs } from "./launchers/launch-logs.ts";
import { PERLS } from "./launchers/launcher-script.ts";
import { NativeStarter } from "./launchers/native-starter.ts";
import type { PoolStarterOptions } from "./launchers/pool-starter.ts";
import { PoolStarter } from "./launchers/pool-starter.ts";
import { probe } from "./probe.ts";
import { RunFiles } from "./run-files.ts";
import type { RunContainers } from "../../runs/containers/run-containers.ts";
import type { Remover } from "../../runs/remover.ts";
import { createRemover } from "../../runs/remover.ts";
import { Runs } from "./runs.ts";
import type { Sessions } from "./sessions.ts";
import { linuxSessions } from "./sessions.ts";
import { SpawnStarter } from "./launchers/spawn-starter.ts";
import type { ProcessStarter } from "./launchers/starter.ts";
import { runTagOf, tagsInUse } from "./survivors.ts";
import { makeDirectory } from "../../../lib/make-directory.ts";

export interface ProcessExecutorOptions {
  /** Holds the journal, the runs and their output. One executor at a time. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bootId?: string;
  /** How processes are started; default: native. */
  readonly launcher?: LauncherKind;
  /** Replaces the native launcher of this package. */
  readonly launcherProgram?: string | undefined;
  /** Whether runs can have a client, if this package has the program for it; default: yes. */
  readonly attaches?: boolean;
  /** Overrides `launcher`. */
  readonly starter?: ProcessStarter;
  /** Whether processes that left the session of their run are ended with it; default: yes. */
  readonly endsSurvivors?: boolean;
  /** How long a launcher may owe an answer before the starter gives it up. */
  readonly launcherStallMs?: number;
  /** Replaces the sessions of this machine. */
  readonly sessions?: Sessions;
  readonly keptBounds?: KeptBounds | undefined;
  /** The agent's own environment. */
  readonly env?: AgentEnv;
  /** Which requested limits the executor enforces; default: none, and runs have no control groups. */
  readonly enforce?: Enforce | undefined;
  /** The control group to use instead of the agent's own. */
  readonly cgroup?: string | undefined;
  /** Replaces the file system of control groups. */
  readonly cgroupFiles?: CgroupFiles | undefined;
  /** Variables for every task. */
  readonly taskEnv?: Readonly<Record<string, string>> | undefined;
  /** Runs tasks in containers; default: runs that need them do not start. Closed with this executor. */
  readonly containers?: RunContainers | undefined;
}

/**
 * The first kind that this machine supports, from the requested one on:
 *
 * - native: by launchers in C that were started once (see NativeStarter).
 * - perl: by launchers in Perl that were started once (see PoolStarter).
 * - spawn: by a fork of the agent for each, with a shell as its wrapper.
 */
export type LauncherKind = "native" | "perl" | "spawn";

/**
 * Runs work as processes of this machine.
 *
 *   directory/lock             the process that uses it
 *   directory/journal.ndjson   see JournalEntry
 *   directory/runs/17.3.1/     one attempt: state, stdout, stderr, script, work/, stopping
 *   directory/launchers/812-1/ of a native launcher: its record, and its runs until they are forgotten
 *   directory/progress/17.3.1  its reported progress, if any; in shared memory where possible
 *   directory/attach/17.3.1    the socket of a run with a client
 *   directory/spare/           of launchers in Perl: prepared to become one of runs/
 *   directory/trash/           to be deleted
 *
 * When a command ends, the executor kills its remaining processes: its process group at once, processes that called setsid a moment later
 * (see Survivors). Throws `conflict` when another living agent uses the directory.
 */
export async function createProcessExecutor(options: ProcessExecutorOptions): Promise<Executor> {
  const { directory, logger } = options;
  makeDirectory(join(directory, "runs"));
  const bootId = options.bootId ?? readBootId();
  let unlock = lockDirectory(directory, bootId);
  try {
    const remover = createRemover(join(directory, "trash"), logger);
    const logs = new LaunchLogs(join(directory, "launchers"), remover);
    logs.recover();
    const enforcement = openEnforcement(options, runTagOf(directory));
    const env = taskEnvOf({ agentEnv: options.env ?? process.env, added: options.taskEnv });
    const starter = options.starter ?? createStarter(options, { env, remover, logs });
    checkLauncher(enforcement, starter);
    const attached = new AttachedRuns({
      directory: join(directory, "attach"),
      program: options.attaches === false ? undefined : findAttach(),
      clock: options.clock,
    });
    const files = new RunFiles({ directory, starter, logs, remover });
    const runs = new Runs({
      directory,
      spareDirectory: join(directory, "spare"),
      clock: options.clock,
      logger,
      bootId,
      starter,
      logs,
      searchPath: env["PATH"] ?? "",
      sessions: options.sessions ?? linuxSessions,
      tag: runTagOf(directory),
      endsSurvivors: options.endsSurvivors ?? true,
      enforcement,
      cgroupFiles: options.cgroupFiles,
      containers: options.containers,
      attached,
      remover,
      keptBounds: options.keptBounds ?? KEPT_BOUNDS,
    });
    await runs.recover();
    tidyMemory(logger);
    const restore = (): void => {
      makeDirectory(join(directory, "runs"));
      if (!existsSync(join(directory, "lock"))) unlock = lockDirectory(directory, bootId);
      remover.restore();
      logs.restore();
      runs.rewriteJournal();
    };
    const { clock } = options;
    return {
      name: "process",
      enforced: describeEnforcement(enforcement),
      start: (request) => runs.start(request),
      stop: (id) => runs.stop(id),
      forget: (id) => runs.forget(id),
      known: () => runs.known(),
      queued: () => runs.queued(),
      readOutput: (id, stream, how) => runs.readOutput(id, stream, how),
      onReport: (listener) => runs.onReport(listener),
      onProgress: (listener) => runs.onProgress(listener),
      ...(attached.isAble && { attach: (id, events) => attached.open(runKey(id), events) }),
      probe: () => probe({ directory, clock, starter, files, restore }),
      async close() {
        if (!runs.close()) return;
        starter.close();
        unlock();
        await options.containers?.close();
        await remover.idle();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Throws `invalid_argument` when a named limit cannot be enforced. */
function openEnforcement(options: ProcessExecutorOptions, tag: string): Enforcement {
  const { enforce = [], cgroup, cgroupFiles } = options;
  if (enforce.length === 0) return NOTHING_ENFORCED;
  const enforcement = enforcementHere({ enforce, cgroup, tag, files: cgroupFiles });
  const enforced = describeEnforcement(enforcement);
  options.logger.info({ enforced }, "limits that are enforced on tasks");
  return enforcement;
}

function checkLauncher({ isProcessMemoryLimited }: Enforcement, starter: ProcessStarter): void {
  if (!isProcessMemoryLimited || starter instanceof NativeStarter) return;
  throw new AppError(
    "invalid_argument",
    "--enforce: process-memory needs the native launcher, which this agent does not use: npm install " +
      "builds it where it finds a C compiler; see --launcher",
  );
}

/** No other process removes these for agents that were killed and never restarted. */
function tidyMemory(logger: Logger): void {
  try {
    const removed = removeProgressLeftovers(SHARED_MEMORY, tagsInUse);
    if (removed > 0)
      logger.info({ removed }, "removed progress files of killed agents from shared memory");
  } catch (error) {
    const reason = describeChain(error);
    logger.warn({ reason }, "could not remove progress files of killed agents from shared memory");
  }
}

interface StarterParts {
  /** Of all tasks. */
  readonly env: Readonly<Record<string, string>>;
  readonly remover: Remover;
  readonly logs: LaunchLogs;
}

function createStarter(
  options: ProcessExecutorOptions,
  { env, remover, logs }: StarterParts,
): ProcessStarter {
  const { clock, logger, launcher = "native" } = options;
  const spawning = new SpawnStarter(env, clock);
  if (launcher === "spawn") return spawning;
  const program = launcher === "native" ? (options.launcherProgram ?? findLauncher()) : undefined;
  const fallback = createPool(options, { env, remover, fallback: spawning }, program === undefined);
  if (program === undefined) return fallback;
  logger.info({ program }, "tasks are started by the native launcher");
  const stallMs = options.launcherStallMs;
  return new NativeStarter({ program, logs, env, clock, logger, fallback, stallMs });
}

/** Launchers in Perl, if Perl is installed. */
function createPool(
  options: ProcessExecutorOptions,
  parts: Pick<PoolStarterOptions, "env" | "remover" | "fallback">,
  isFirst: boolean,
): ProcessStarter {
  const { directory, clock, logger } = options;
  const perl = PERLS.find((path) => existsSync(path));
  if (perl === undefined) {
    if (isFirst) {
      logger.warn(
        { lookedFor: PERLS },
        "no perl found for launchers: the agent forks for each task, which is slower",
      );
    }
    return parts.fallback;
  }
  if (isFirst) logger.info({ perl }, "tasks are started by launchers in Perl");
  const runsDirectory = join(directory, "runs");
  const spareDirectory = join(directory, "spare");
  const own = { perl, runsDirectory, spareDirectory, stallMs: options.launcherStallMs };
  return new PoolStarter({ ...own, clock, logger, ...parts });
}
