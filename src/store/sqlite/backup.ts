import { closeSync, fdatasync, openSync } from "node:fs";
import { backup, type DatabaseSync } from "node:sqlite";
import { limits } from "../../limits.ts";

/**
 * Copies the database into a file while it is being written: some pages at a time, and what is
 * committed meanwhile is in the copy, too. Commits wait for one step at most.
 */
export async function copyDatabase(db: DatabaseSync, file: string): Promise<void> {
  await backup(db, file, { rate: limits.backupPagesPerStep, progress: () => flushEarly(file) });
}

/** The last step flushes all that is left, while commits wait: so most of it is flushed before. */
function flushEarly(file: string): void {
  const descriptor = openSync(file, "r");
  fdatasync(descriptor, () => closeSync(descriptor)); // the last step tells of errors
}
