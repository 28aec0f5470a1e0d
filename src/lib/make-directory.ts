import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a directory, and those above it; for this user alone if nothing else is said. As `mkdir` with `recursive`, which
 * never returns where a directory cannot have others in it (`/proc/x`): the system says there that
 * the parent is missing, though it is not.
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
  if (missing.length === 0) makeOne(directory, mode); // something may be in its way
}

function makeOne(directory: string, mode: number): void {
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    // Somebody else may have made it; that a link leads nowhere is said as EEXIST too.
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    if (!isThere || statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw error;
    }
  }
}
