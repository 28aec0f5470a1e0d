import { invariant } from "../../lib/invariant.ts";
import type { RunId } from "../../ports/executor.ts";

let lastId: RunId | undefined;
let lastKey = "";

/**
 * Identifies a run in maps and as a directory. Each step of a run needs its key, and a map looks up the same string object much faster than
 * an equal one: so the function caches the last key.
 */
export function runKey(id: RunId): string {
  if (id !== lastId) {
    lastKey = `${id.jobId}.${id.index}.${id.attempt}`;
    lastId = id;
  }
  return lastKey;
}

export function parseRunKey(key: string): RunId | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)$/.exec(key);
  if (match === null) return undefined;
  return { jobId: Number(match[1]), index: Number(match[2]), attempt: Number(match[3]) };
}

export function idOf(key: string): RunId {
  const id = parseRunKey(key);
  invariant(id !== undefined, `${key} is a run's key`);
  return id;
}
