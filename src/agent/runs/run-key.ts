import { invariant } from "../../lib/invariant.ts";
import type { RunId } from "../../ports/executor.ts";

/** Names a run in maps and as a directory. */
export const runKey = (id: RunId): string => `${id.jobId}.${id.index}.${id.attempt}`;

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
