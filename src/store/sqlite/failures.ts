import { dirname } from "node:path";
import { AppError, describeChain, type ErrorCode } from "../../lib/errors.ts";

/** An AppError as a message between threads; an Error would lose its class and its fields there. */
export interface StoreFailure {
  readonly code: ErrorCode;
  readonly problem: string;
  readonly field: string | undefined;
  readonly cause: string | undefined;
}

// SQLite's primary result codes: https://www.sqlite.org/rescode.html
const GENERIC = 1;
const BUSY = 5;
const READ_ONLY = 8;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

/** The primary code of an error from SQLite; undefined for any other error. */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

export const isBusy = (error: unknown): boolean => sqliteCode(error) === BUSY;

/** Damaged data: no automatic repair is safe, so a person must choose. */
export const damaged = (file: string, what: string, cause?: unknown): AppError =>
  new AppError(
    "internal",
    `${file} is damaged: ${what}; restore a backup (busbar restore), or see what can be saved with: ` +
      `busbar recover --data ${dirname(file)}`,
    { cause },
  );

/** Any error while opening or reading, with what to do about it. */
export function readError(error: unknown, file: string): AppError {
  if (error instanceof AppError) return error;
  const code = sqliteCode(error);
  if (code === CORRUPT) return damaged(file, "SQLite cannot follow its pages", error);
  if (code === NOT_A_DATABASE) return damaged(file, "it is not a SQLite database", error);
  // The statements are constant, so the error means that a table or column that they name is missing.
  if (code === GENERIC) return damaged(file, "its tables are not those that were made", error);
  return writeError(error, file);
}

/** Any error while writing. Always `unavailable`: the store cannot continue. */
export function writeError(error: unknown, file: string): AppError {
  return new AppError("unavailable", `cannot use ${file}: ${advice(error)}`, { cause: error });
}

/** SQLITE_IOERR_SHMSIZE: the shared memory file could not grow. */
const NO_ROOM_TO_READ = 10 | (19 << 8);

/** The system reports it for one of our files beside the database, or SQLite for one of its own. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (sqliteCode(error) === FULL) return true;
  if ("errcode" in error && error.errcode === NO_ROOM_TO_READ) return true;
  return "code" in error && ["ENOSPC", "EDQUOT"].includes(String(error.code));
}

function advice(error: unknown): string {
  const code = sqliteCode(error);
  if (isDiskFull(error)) return "the disk is full; make room, then restart";
  if (code === READ_ONLY || code === CANNOT_OPEN) {
    return "make the directory and its files writable for this user, then restart";
  }
  return "check the disk, then restart";
}

export function toFailure(error: AppError): StoreFailure {
  const cause = error.cause === undefined ? undefined : describeChain(error.cause);
  return { code: error.code, problem: error.problem, field: error.field, cause };
}

export const fromFailure = ({ code, problem, field, cause }: StoreFailure): AppError =>
  new AppError(code, problem, { field, cause: cause === undefined ? cause : new Error(cause) });
