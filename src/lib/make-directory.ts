import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a directory and its parents, by default with access for this user only. Replaces `mkdir` with `recursive`, which never returns
 * where a directory cannot have subdirectories (`/proc/x`): the system reports there that the parent is missing, though it is not.
 */
export function makeDirectory(directory: string, mode = 0o700): void {
  const missing: string[] = [];
  let at = directory;
  while (statSync(at, { throwIfNoEntry: false }) === undefined) {
    missing.push(at);
    if (dirname(at) === at) break;
    at = dirname(at);
  }
  for (const each of missing.reverse()) makeOne(each, mode);
  if (missing.length === 0) makeOne(directory, mode); // another file may be in the way
}

function makeOne(directory: string, mode: number): void {
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    // Another process may have made it. The system reports a dangling link as EEXIST too.
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    if (!isThere || statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw error;
    }
  }
}
