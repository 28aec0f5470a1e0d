import { statfsSync } from "node:fs";

import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import { describeOwnFault } from "./machine-fault.ts";

/**
 * Why the disk below `directory` cannot hold another run; undefined: it can. Work on a full disk fails at its first write, so the agent
 * does not start it. One check takes about 10 us.
 */
export function diskFault(directory: string): string | undefined {
  try {
    const { bsize, blocks, bavail, files, ffree } = statfsSync(directory);
    const neededBytes = Math.min(limits.diskFreeBytesMin, (blocks * bsize) / 64);
    if (bavail * bsize < neededBytes) return `the disk is full: ${directory}`;
    // Some file systems do not count inodes.
    return files > 0 && ffree === 0 ? `the disk has no inodes left: ${directory}` : undefined;
  } catch (error) {
    return describeOwnFault(error, directory);
  }
}

/** The same for many starts: one check serves all that arrive together. */
export class DiskSpace {
  readonly #directory: string;
  readonly #clock: Clock;
  #hadSpaceAtMs = Number.NEGATIVE_INFINITY;

  constructor(directory: string, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  fault(): string | undefined {
    const nowMs = this.#clock.nowMs();
    const agoMs = nowMs - this.#hadSpaceAtMs;
    if (agoMs >= 0 && agoMs < limits.diskCheckMs) return undefined;
    const fault = diskFault(this.#directory);
    this.#hadSpaceAtMs = fault === undefined ? nowMs : Number.NEGATIVE_INFINITY;
    return fault;
  }
}
