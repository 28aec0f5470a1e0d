import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { threadId } from "node:worker_threads";
import { AppError } from "../../lib/errors.ts";
import { writeWholeFile } from "../../lib/files/write-whole-file.ts";
import { makeDirectory } from "../../lib/make-directory.ts";
import { damaged } from "./failures.ts";
import { migrate } from "./migrations.ts";

/** "Busb": distinguishes our database from any other. */
export const APPLICATION_ID = 0x42757362;

/**
 * Ensures a writable directory with a database in it; returns the path of the database.
 *
 * No code here opens the database file itself: closing any descriptor of it would drop the locks that SQLite holds on it for this whole
 * process.
 */
export function prepareDirectory(directory: string): string {
  const file = join(directory, "busbar.db");
  makeDataDirectory(directory);
  try {
    // Opening a pipe, for one, would block without end.
    for (const name of OURS) checkKind(join(directory, name));
    const found = statSync(file, { throwIfNoEntry: false });
    if (found === undefined) createFile(directory, file);
    else if (found.size === 0) throw damaged(file, "it is empty");
  } catch (error) {
    throw directoryError(error, directory);
  }
  return file;
}

export function makeDataDirectory(directory: string): void {
  try {
    makeDirectory(directory);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw directoryError(error, directory);
  }
}

export function isMissingOrEmpty(directory: string): boolean {
  try {
    return !existsSync(directory) || readdirSync(directory).length === 0;
  } catch (error) {
    throw directoryError(error, directory);
  }
}

const OURS = ["busbar.db", "busbar.db-wal", "busbar.db-shm", "busbar.record", "busbar.pid"];

function checkKind(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() === true && !existsSync(file)) {
    throw new AppError(
      "invalid_argument",
      `${file} is a link to a missing file: repair or remove it`,
      { field: "--data" },
    );
  }
  if (found !== undefined && !statSync(file).isFile()) throw inTheWay(file);
}

/** Written aside and linked into place, so that no process sees a half-written file and no crash leaves an empty one. */
function createFile(directory: string, file: string): void {
  if (existsSync(`${file}-wal`)) {
    // SQLite would replay this log into the new database.
    throw damaged(file, "it is missing, but its log (busbar.db-wal) exists");
  }
  if (existsSync(join(directory, "busbar.record"))) {
    throw damaged(file, "it is missing, but its record (busbar.record) exists");
  }
  const aside = `${file}-new-${process.pid}-${threadId}`;
  writeWholeFile(aside, createImage(file));
  try {
    linkSync(aside, file);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error; // another process made it at the same time
  } finally {
    rmSync(aside);
  }
  syncDirectory(directory);
}

/** The bytes of a new database. */
export function createImage(file: string): Uint8Array {
  const db = new DatabaseSync(":memory:");
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  migrate(db, file);
  const image = db.serialize();
  db.close();
  return image;
}

const BACKUP = "busbar.backup-";

/** The path of the temporary copy that a backup is sent from. */
export const backupFile = (directory: string, number: number): string =>
  join(directory, `${BACKUP}${number}`);

export function removeBackups(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (name.startsWith(BACKUP)) rmSync(join(directory, name), { force: true });
  }
}

function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}

const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && "code" in error && codes.includes(String(error.code));

function directoryError(error: unknown, directory: string): AppError {
  if (error instanceof AppError) return error;
  if (hasCode(error, "EEXIST", "ENOTDIR")) return inTheWay(directory, error);
  if (hasCode(error, "ENOSPC", "EDQUOT")) {
    return new AppError(
      "unavailable",
      `the disk of ${directory} is full: free some space, then restart`,
      {
        cause: error,
      },
    );
  }
  if (hasCode(error, "ENAMETOOLONG")) {
    return new AppError("invalid_argument", "the path of the data directory is too long", {
      cause: error,
      field: "--data",
    });
  }
  if (hasCode(error, "ENOENT")) {
    return new AppError(
      "invalid_argument",
      `cannot create the directory ${directory}: choose another data directory`,
      { cause: error, field: "--data" },
    );
  }
  return new AppError(
    "unavailable",
    `the data directory ${directory} is not writable: give this user write permission, or choose another one (--data)`,
    { cause: error },
  );
}

const inTheWay = (path: string, cause?: unknown): AppError =>
  new AppError(
    "invalid_argument",
    `something else is at ${path}: move it, or choose another data directory`,
    { cause, field: "--data" },
  );
