import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { ProcessIdentity } from "../../proc.ts";
import type { WrapperState } from "./launchers/wrapper.ts";
import { parseWrapperState, TAKEN } from "./launchers/wrapper.ts";

export interface StateFile extends WrapperState {
  /** When the wrapper last wrote: with an outcome, when the command ended. */
  readonly writtenAtMs: number;
  /** The process that waits for the command when the wrapper dies. */
  readonly keeper?: ProcessIdentity | undefined;
  /** undefined: the wrapper does not record it. */
  readonly startedAtMs?: number | undefined;
}

/** undefined: no wrapper has claimed the run of this directory. */
export function readStateFile(directory: string): StateFile | undefined {
  const path = join(directory, "state");
  try {
    const state = parseWrapperState(readFileSync(path, "latin1"));
    return { ...state, writtenAtMs: Math.floor(statSync(path).mtimeMs) };
  } catch (error) {
    if (isCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** For a run whose directory another program removed. */
export const lostStateFile = (
  wrapper: WrapperState["wrapper"],
  writtenAtMs: number,
): StateFile => ({ wrapper, session: wrapper, outcome: undefined, writtenAtMs });

/**
 * An agent killed right after it started a run may leave a starting wrapper. Within this time the run continues as if nothing had happened;
 * after that the agent claims it in place of the wrapper.
 */
export async function awaitWrappers(
  keys: readonly string[],
  clock: Clock,
  isTaken: (key: string) => boolean,
): Promise<void> {
  const untilMs = clock.nowMs() + limits.claimTimeoutMs;
  for (const key of keys) {
    while (!isTaken(key) && clock.nowMs() < untilMs) {
      await new Promise<void>((resolve) => void clock.after(limits.processPollMs / 10, resolve));
    }
  }
}

/** Whether a wrapper has claimed the run of this directory. */
export const isTaken = (directory: string): boolean => existsSync(join(directory, "state"));

/**
 * Claims a run that no wrapper has claimed, so that none can any more: a wrapper that was started just before the last agent died may still
 * be starting. False: a wrapper was faster.
 */
export function takeFromWrappers(directory: string): boolean {
  try {
    closeSync(openSync(join(directory, "state"), "wx"));
    return true;
  } catch (error) {
    if (isCode(error, "ENOENT")) return true; // not even the directory exists
    if (isCode(error, "EEXIST")) return false;
    throw error;
  }
}

/**
 * Orders the wrapper of a run to leave the rest of its session to the agent, and to begin no more commands. Claims a run that no wrapper
 * has claimed, so that none can: by a rename, as lanes do.
 */
export function markStopping(directory: string): void {
  for (let attempt = 0; ; attempt += 1) {
    try {
      writeFileSync(join(directory, "stopping"), "");
      return;
    } catch (error) {
      if (!isCode(error, "ENOENT") || attempt > 0) throw error;
    }
    const prepared = mkdtempSync(`${directory}.stopped-`);
    writeFileSync(join(prepared, "state"), TAKEN);
    writeFileSync(join(prepared, "stopping"), "");
    try {
      renameSync(prepared, directory);
      return;
    } catch (error) {
      rmSync(prepared, { recursive: true, force: true });
      // A wrapper was faster: the directory exists now.
      if (!isCode(error, "ENOTEMPTY") && !isCode(error, "EEXIST")) throw error;
    }
  }
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
