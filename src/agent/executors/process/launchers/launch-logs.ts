import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";

import { limits } from "../../../../limits.ts";
import type { Clock } from "../../../../ports/clock.ts";
import type { Remover } from "../../../runs/remover.ts";
import type { LoggedRun } from "./launch-log.ts";
import { LaunchLog } from "./launch-log.ts";
import { childrenOf } from "../survivors.ts";
import type { StateFile } from "../state-file.ts";

let made = 0; // number of launchers of this process

interface Entry {
  readonly log: LaunchLog;
  readonly run: LoggedRun;
}

/**
 * The records of all native launchers of one agent, including those of its earlier processes. A new agent reads one file per launcher to
 * know the outcome of every run.
 */
export class LaunchLogs {
  readonly #directory: string;
  readonly #remover: Remover;
  readonly #entries = new Map<string, Entry>();
  readonly #logs = new Set<LaunchLog>(); // all whose directories exist
  readonly #unheard = new Set<LaunchLog>(); // those without a pipe to this agent

  constructor(directory: string, remover: Remover) {
    this.#directory = directory;
    this.#remover = remover;
  }

  /** Reads the records of earlier processes. */
  recover(): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(this.#directory)) {
      const log = new LaunchLog(join(this.#directory, name), true);
      this.#unheard.add(log);
      this.#logs.add(log);
    }
    this.refresh();
  }

  /**
   * Prevents launchers of earlier processes from beginning more commands, then waits, with a bound, until each process that is on its way
   * to its command has begun it or given up.
   */
  async closeEarlier(clock: Clock): Promise<void> {
    for (const log of this.#unheard) log.close();
    const untilMs = clock.nowMs() + limits.claimTimeoutMs;
    for (;;) {
      this.refresh();
      const isSettled = ![...this.#entries.values()].some(({ run }) => isOnTheWay(run));
      if (isSettled || clock.nowMs() >= untilMs) {
        this.refresh(); // a launcher that gave up since the first look has recorded it by now
        return;
      }
      await new Promise<void>((resolve) => void clock.after(limits.processPollMs / 10, resolve));
    }
  }

  /** Creates its own directory again if it is missing. */
  restore(): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
  }

  /** For a new launcher. Names are unique over time: an old launcher may start late. */
  create(): LaunchLog {
    let directory: string;
    do {
      made += 1;
      directory = join(this.#directory, `${process.pid}-${made}`);
    } while (existsSync(directory));
    const log = LaunchLog.create(directory);
    this.#logs.add(log);
    return log;
  }

  /** Processes that keepers inherited from commands; undefined: the kernel does not list them. */
  orphans(): readonly number[] | undefined {
    const pids: number[] = [];
    for (const { wrappers } of this.#logs) {
      const [launcher, keeper] = wrappers;
      const children = keeper === undefined ? [] : childrenOf(keeper.pid);
      if (children === undefined) return undefined;
      for (const pid of children) if (pid !== launcher?.pid) pids.push(pid);
    }
    return pids;
  }

  /** Registers a run before the launcher of `log` receives it. */
  expect(log: LaunchLog, key: string, slot: string): void {
    log.expect(key, slot);
    this.#entries.set(key, { log, run: log.runs.get(key)! });
  }

  /** The pipe from this launcher has ended: from now on the agent reads its record. */
  unhear(log: LaunchLog): void {
    log.read();
    if (log.runs.size > 0) this.#unheard.add(log);
    else this.#remove(log);
  }

  /** Reads the records of launchers that do not report to this process. */
  refresh(): void {
    for (const log of this.#unheard) {
      log.read();
      if (!log.isEarlier) continue;
      for (const [key, run] of log.runs) {
        const known = this.#entries.get(key);
        // A launch that one launcher could no longer begin went to another.
        if (known === undefined || !hasBegun(known.run)) this.#entries.set(key, { log, run });
      }
    }
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Whether its process has reached its command, or has given up. */
  isBegun(key: string): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && !isOnTheWay(entry.run);
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  /** undefined: not a run of a native launcher, or a run without files. */
  directoryOf(key: string): string | undefined {
    const entry = this.#entries.get(key);
    return entry?.run.hasFiles === true ? entry.log.directoryOf(entry.run) : undefined;
  }

  /** undefined: no launcher has begun it. */
  read(key: string): StateFile | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const { session, outcome, startedAtMs, endedAtMs, usage } = entry.run;
    if (session === undefined && outcome === undefined) return undefined;
    const writtenAtMs = endedAtMs ?? startedAtMs ?? 0;
    const [wrapper, keeper] = entry.log.wrappers;
    return { wrapper, keeper, session, outcome, writtenAtMs, startedAtMs, usage };
  }

  /** False: not a run of a native launcher. */
  markStopping(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    entry.log.markStopping(entry.run);
    return true;
  }

  isStopMarked(key: string): boolean {
    return this.#entries.get(key)?.run.isStopMarked ?? false;
  }

  /** Moves the files of an ended run, if any, to its own directory. */
  release(key: string, to: string): void {
    const from = this.directoryOf(key);
    try {
      if (from !== undefined && existsSync(from)) renameSync(from, to);
    } finally {
      this.drop(key);
    }
  }

  drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    entry.log.runs.delete(key);
    if (entry.log.runs.size === 0 && this.#unheard.delete(entry.log)) {
      this.#remove(entry.log);
    }
  }

  /** The agent closes: an idle launcher leaves no files. */
  leave(log: LaunchLog): void {
    if (log.runs.size === 0) this.#remove(log);
  }

  #remove(log: LaunchLog): void {
    this.#logs.delete(log);
    this.#remover.remove(log.directory);
  }

  /** Removes the unused files of launchers of earlier processes. */
  prune(): void {
    for (const log of this.#unheard) {
      if (log.runs.size > 0) continue;
      this.#unheard.delete(log);
      this.#remove(log);
    }
  }
}

const hasBegun = ({ outcome }: LoggedRun): boolean =>
  outcome?.kind !== "not-executed" || outcome.why !== "stopped";

/** Between its line in the record and its command, a process still looks like its launcher. */
export function isOnTheWay({ session, outcome }: LoggedRun): boolean {
  if (session === undefined || outcome !== undefined) return false;
  try {
    return readFileSync(`/proc/${session.pid}/cmdline`, "latin1").startsWith("busbar launcher");
  } catch {
    return false;
  }
}
