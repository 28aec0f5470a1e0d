import { closeSync, existsSync, openSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { WrapperState } from "./wrapper.ts";
import { parseWrapperState } from "./wrapper.ts";

export interface StateFile extends WrapperState {
  /** When the wrapper last wrote: with an outcome, when the command ended. */
  readonly writtenAtMs: number;
}

/** undefined: no wrapper has taken the run of this directory. */
export function readStateFile(directory: string): StateFile | undefined {
  const path = join(directory, "state");
  try {
    const state = parseWrapperState(readFileSync(path, "latin1"));
    return { ...state, writtenAtMs: Math.floor(statSync(path).mtimeMs) };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** For a run whose directory was removed by someone else. */
export const lostStateFile = (
  wrapper: WrapperState["wrapper"],
  writtenAtMs: number,
): StateFile => ({ wrapper, outcome: undefined, writtenAtMs });

/**
 * An agent killed right after it started a run may leave a wrapper on its way. Given time, the run
 * goes on as if nothing had happened; after that it is taken from the wrapper.
 */
export async function awaitWrappers(directories: readonly string[], clock: Clock): Promise<void> {
  const untilMs = clock.nowMs() + limits.claimTimeoutMs;
  for (const directory of directories) {
    while (!existsSync(join(directory, "state")) && clock.nowMs() < untilMs) {
      await new Promise<void>((resolve) => void clock.after(limits.processPollMs / 10, resolve));
    }
  }
}

/**
 * Takes a run that no wrapper has taken, so that none can any more: one that was started just
 * before the last agent died may still be on its way. False: a wrapper was faster.
 */
export function takeFromWrappers(directory: string): boolean {
  try {
    closeSync(openSync(join(directory, "state"), "wx"));
    return true;
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    if (error.code === "ENOENT") return true; // not even the directory was made
    if (error.code === "EEXIST") return false;
    throw error;
  }
}
