import { readdirSync, readFileSync, statSync } from "node:fs";

import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import { RUN_VARIABLE } from "../../runs/run-variable.ts";

/** The prefix of the variable of each run of this directory; a restarted agent has the same. */
export function runTagOf(directory: string): string {
  const { dev, ino } = statSync(directory);
  return `${dev.toString(16)}-${ino.toString(16)}`;
}

export interface SurvivorsOptions {
  /** See runTagOf. */
  readonly tag: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Processes that native launchers inherited; undefined: the kernel does not list them. */
  orphans(): readonly number[] | undefined;
  isActive(key: string): boolean;
}

/**
 * Processes that left the session of their run: after setsid(2) a signal to the session does not reach them. The agent finds them by their
 * environment. Children of native launchers' commands go to the launcher's keeper when their parents end, so that only the keeper's
 * children are checked; otherwise all processes of the machine, once for any number of ended runs, and for at most a small share of the
 * time.
 */
export class Survivors {
  readonly #options: SurvivorsOptions;
  readonly #killed = new Map<number, number>(); // pid => number of attempts
  #cancel: (() => void) | undefined;
  #restUntilMs = 0;
  #isFullDue = false;

  constructor(options: SurvivorsOptions) {
    this.#options = options;
  }

  /** A run has ended: kills its remaining processes soon. */
  ended(isNative: boolean): void {
    if (!isNative) this.#isFullDue = true;
    this.#schedule(Math.max(0, this.#restUntilMs - performance.now()));
  }

  /** The processes of these runs that are still alive, one pass for all. */
  of(keys: ReadonlySet<string>, isNative: boolean): Map<string, number[]> {
    const found = new Map<string, number[]>();
    if (keys.size === 0) return found;
    for (const [pid, key] of this.#find(!isNative)) {
      if (!keys.has(key)) continue;
      const pids = found.get(key);
      if (pids === undefined) found.set(key, [pid]);
      else pids.push(pid);
    }
    return found;
  }

  close(): void {
    this.#cancel?.();
  }

  #schedule(delayMs: number): void {
    this.#cancel ??= this.#options.clock.after(delayMs, () => {
      this.#cancel = undefined;
      this.#sweep();
    });
  }

  #sweep(): void {
    const beginMs = performance.now();
    const isFull = this.#isFullDue;
    this.#isFullDue = false;
    let left = 0;
    for (const [pid, key] of this.#find(isFull)) {
      if (this.#options.isActive(key)) continue;
      if (this.#kill(pid, key)) left += 1;
    }
    if (left === 0) this.#killed.clear();
    const tookMs = performance.now() - beginMs;
    const restMs = Math.max(limits.survivorsRestMsMin, limits.survivorsRestFactor * tookMs);
    this.#restUntilMs = beginMs + restMs;
    if (left === 0) return;
    this.#isFullDue ||= isFull; // its own children are found when it has ended
    this.#schedule(Math.max(limits.processPollMs, tookMs));
  }

  /** False: enough attempts were made. */
  #kill(pid: number, key: string): boolean {
    const times = (this.#killed.get(pid) ?? 0) + 1;
    this.#killed.set(pid, times);
    const { logger } = this.#options;
    if (times === limits.survivorKillsMax) {
      logger.warn({ run: key, pid }, "a process of an ended run cannot be killed");
    }
    if (times >= limits.survivorKillsMax) return false;
    send(pid, "SIGKILL");
    return true;
  }

  *#find(isFull: boolean): Generator<[pid: number, key: string]> {
    const few = isFull ? undefined : this.#options.orphans();
    for (const pid of few ?? allPids()) {
      const key = keyOf(pid, this.#options.tag);
      if (key !== undefined) yield [pid, key];
    }
  }
}

function allPids(): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid);
}

/** Tags of active runs, of this agent and of others, as far as this user may read their processes. */
export function tagsInUse(): ReadonlySet<string> {
  const tags = new Set<string>();
  const head = `\0${RUN_VARIABLE}=`;
  for (const pid of allPids()) {
    const text = environmentOf(pid);
    const at = text.indexOf(head);
    if (at < 0) continue;
    const [tag = ""] = text.slice(at + head.length, at + head.length + 256).split(".", 1);
    tags.add(tag);
  }
  return tags;
}

/** With a zero before each variable; empty: the process has ended, or this user may not read it. */
function environmentOf(pid: number): string {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}`;
  } catch {
    return "";
  }
}

/** The run that a process belongs to; undefined: none of this agent's, or this user may not read it. */
function keyOf(pid: number, tag: string): string | undefined {
  const text = environmentOf(pid);
  const head = `\0${RUN_VARIABLE}=${tag}.`;
  const at = text.indexOf(head);
  if (at < 0) return undefined;
  const end = text.indexOf("\0", at + head.length);
  return text.slice(at + head.length, end < 0 ? undefined : end);
}

/** Children of a process with one thread; undefined: the kernel does not list them. */
export function childrenOf(pid: number): number[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    return undefined;
  }
}

export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended already, or this user may not signal it: the next poll shows which.
  }
}
