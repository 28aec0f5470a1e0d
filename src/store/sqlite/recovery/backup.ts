import { closeSync, fdatasync, openSync } from "node:fs";
import { backup, type DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { limits } from "../../../limits.ts";

/**
 * Copies the database into a file while commits continue, some pages at a time. The copy includes commits that happen meanwhile; a commit
 * waits for one step at most.
 */
export async function copyDatabase(db: DatabaseSync, file: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await backup(db, file, { rate: limits.backupPagesPerStep, progress: () => flushEarly(file) });
      return;
    } catch (error) {
      if (!beganDuringCommit(error) || tries >= limits.backupTriesMax) throw error;
      await wait(limits.backupRetryMs);
    }
  }
}

/** A commit makes later steps wait. The first one fails because of it; Node reports this as error 0. */
const beganDuringCommit = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && error.errcode === 0;

/** The last step flushes the rest while commits wait, so most of it is flushed before. */
function flushEarly(file: string): void {
  const descriptor = openSync(file, "r");
  fdatasync(descriptor, () => closeSync(descriptor)); // the last step reports errors
}
