import { readlinkSync } from "node:fs";

import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import { isAlive, readBootId } from "../../proc.ts";
import { processesMarked } from "../../runs/run-variable.ts";
import type { PartFiles } from "./part-files.ts";

/**
 * - unknown: no wrapper of the part has recorded that it runs.
 * - running: the wrapper of the job that claimed it still runs.
 * - silent: it runs on another machine, or did, and has shown no sign of life for a while: it may be gone.
 * - gone: it no longer runs. On another machine that means: no sign of life for `lowerSilentMsMax`.
 */
export type ClaimState = "unknown" | "running" | "silent" | "gone";

interface Sign {
  readonly writtenAtMs: number; // by the clock of the file system
  readonly seenAtMs: number; // by this machine's clock
}

/**
 * Asks the jobs themselves whether they run, when their scheduler does not know. On this machine the kernel answers. On another machine
 * only files show it: a wrapper writes one every few seconds, and only the fact that it changes counts, so that no two clocks are compared.
 * A wrapper that cannot reach the file system counts as gone, although it may still run.
 */
export class Claims {
  readonly #files: PartFiles;
  readonly #clock: Clock;
  readonly #place = { bootId: readBootId(), pidNamespace: ownPidNamespace() };
  /** The signs of life of looked-up parts that have not ended. */
  readonly #signs = new Map<string, Sign>();

  constructor(files: PartFiles, clock: Clock) {
    this.#files = files;
    this.#clock = clock;
  }

  stateOf(key: string): ClaimState {
    const runner = this.#files.runnerOf(key);
    if (runner === undefined) return "unknown";
    if (this.#isHere(runner)) return isAlive(runner) ? "running" : "gone";
    const nowMs = this.#clock.nowMs();
    const writtenAtMs = this.#files.aliveAtMs(key) ?? 0;
    let sign = this.#signs.get(key);
    if (sign?.writtenAtMs !== writtenAtMs) {
      sign = { writtenAtMs, seenAtMs: nowMs };
      this.#signs.set(key, sign);
    }
    if (nowMs >= sign.seenAtMs + limits.lowerSilentMsMax) return "gone";
    return nowMs < sign.seenAtMs + 2 * limits.lowerAliveMs ? "running" : "silent";
  }

  /** Kills the processes that an ended wrapper left on this machine. Returns whether there were any. */
  killLeft(key: string): boolean {
    const pids = processesMarked(this.#files.markOf(key));
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // The process has ended already; the next look shows it.
      }
    }
    return pids.length > 0;
  }

  /** The part has ended. */
  remove(key: string): void {
    this.#signs.delete(key);
  }

  #isHere({ bootId, pidNamespace }: { bootId: string; pidNamespace: string }): boolean {
    return bootId === this.#place.bootId && pidNamespace === this.#place.pidNamespace;
  }
}

function ownPidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return ""; // the wrapper's text for an unknown value
  }
}
