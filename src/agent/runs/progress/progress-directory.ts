import { lstatSync, mkdirSync, readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import {
  claimProgressDirectory,
  progressDirectoryNamed,
  unclaimProgressDirectory,
} from "./progress-leftovers.ts";

export const SHARED_MEMORY = "/dev/shm";
const TMPFS_MAGIC = 0x0102_1994;

/**
 * The directory where runs write their progress: in shared memory, if the system has it, because ext4 writes a block each time a shell
 * truncates and closes a file. It is beside the runs if the system has no shared memory, or if another user made the directory. The agent
 * keeps the directory of an earlier process: its runs write there.
 */
export function progressDirectoryOf(
  directory: string,
  tag: string,
  memory: string = SHARED_MEMORY,
): string {
  const beside = join(directory, "progress");
  if (namesIn(beside).length > 0) return beside;
  const inMemory = progressDirectoryNamed(memory, tag);
  if (!isTmpfs(memory) || !claimProgressDirectory(inMemory, directory)) return beside;
  if (makeOwn(inMemory)) return inMemory;
  unclaimProgressDirectory(inMemory);
  return beside;
}

/** Whether the directory exists and belongs to this user. */
function makeOwn(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    const isOwn = stats?.isDirectory() === true && stats.uid === process.getuid?.();
    return isOwn && (stats.mode & 0o077) === 0;
  }
}

function isTmpfs(path: string): boolean {
  try {
    return statfsSync(path).type === TMPFS_MAGIC;
  } catch {
    return false; // it does not exist
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // it was never made
  }
}
