import type { Restored } from "../../../core/model/recovery.ts";
import { renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { AppError, invalid } from "../../../lib/errors.ts";
import { isMissingOrEmpty, makeDataDirectory } from "../data-directory.ts";
import { checkProgram } from "../open-database.ts";
import { readRecord, type ReadRecord, writeNewRecord } from "../record/record-file.ts";
import { damaged, isDiskFull, readError } from "../failures.ts";
import { readMeta } from "../meta.ts";
import { migrations, readVersion } from "../migrations.ts";
import { rebuildDatabase } from "./rebuild.ts";
import { beyond } from "./recover.ts";
import { type Salvage, salvageRows } from "./salvage.ts";

export interface RestoreOptions {
  readonly file: string;
  readonly directory: string;
  /** The data directory that this one replaces; its record has the last id and revision that clients saw. */
  readonly replaces: string | undefined;
}

/** Makes a data directory from a backup, or from a database that was copied while no server ran. */
export function restoreBackup({ file, directory, replaces }: RestoreOptions): Restored {
  if (!isMissingOrEmpty(directory)) {
    throw invalid("--data", `${directory} is not empty; choose another directory, or move it away`);
  }
  const record: ReadRecord = replaces === undefined ? { kind: "missing" } : readRecord(replaces);
  if (replaces !== undefined && record.kind !== "read") {
    throw invalid("--replaces", `there is no busbar.record in ${replaces} that can be read`);
  }
  return withBackup(file, (db) => {
    makeDataDirectory(directory);
    try {
      return restoreInto(directory, { db, file, record });
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      const problem = `the disk of ${directory} is full: free some space, then restore again`;
      throw new AppError("unavailable", problem, { cause: error });
    }
  });
}

interface Source {
  readonly db: DatabaseSync;
  readonly file: string;
  /** Of the replaced directory. */
  readonly record: ReadRecord;
}

function restoreInto(directory: string, { db, file, record }: Source): Restored {
  const aside = join(directory, "busbar.db-new");
  const rebuilt = rebuildDatabase(db, aside, {
    continueWith: () => [],
    beyond: (found, id) => beyond(record, found, id),
  });
  try {
    requireWhole(file, rebuilt);
    writeNewRecord(directory, rebuilt.record); // a start refuses a record without a database
    renameSync(aside, join(directory, "busbar.db"));
  } finally {
    rmSync(aside, { force: true });
  }
  const { durable: last, lastId } = rebuilt.record;
  return {
    directory,
    revision: rebuilt.totals.revision,
    rows: rebuilt.rows,
    goesOnAfter: { revision: last, lastId },
    isExact: record.kind === "read",
  };
}

export interface CheckedBackup {
  readonly revision: number;
  readonly rows: number;
  readonly bytes: number;
}

/** Reads a whole backup back; fails unless it is intact. */
export function checkBackup(file: string): CheckedBackup {
  return withBackup(file, (db) => {
    const salvage = salvageRows(db, () => undefined);
    requireWhole(file, salvage);
    const { revision, rows } = salvage.totals;
    return { revision, rows, bytes: statSync(file).size };
  });
}

function withBackup<T>(file: string, work: (db: DatabaseSync) => T): T {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new AppError("not_found", `there is no file ${file}`);
  }
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    throw invalid("FILE", `${file} has a log beside it: it is a database in use, not a backup`);
  }
  const url = pathToFileURL(file);
  url.searchParams.set("immutable", "1"); // SQLite writes nothing beside it
  try {
    const db = new DatabaseSync(url, { readOnly: true });
    try {
      checkProgram(db, file);
      checkVersion(readVersion(db, file), file);
      checkJournal(db, file);
      return work(db);
    } finally {
      db.close();
    }
  } catch (error) {
    throw readError(error, file);
  }
}

/** The journal beside a database whose server was killed has the last commits, which the database lacks. */
function checkJournal(db: DatabaseSync, file: string): void {
  if (basename(file) !== "busbar.db") return;
  const record = readRecord(dirname(file));
  const last = record.kind === "read" ? (record.entries.at(-1)?.after ?? 0) : 0;
  if (last <= (readMeta(db, "revision") ?? last)) return;
  throw invalid(
    "FILE",
    `${file} lacks commits that are in the journal (busbar.record) beside it: ` +
      "start a server on this directory once, or restore a backup",
  );
}

/** Rows have had the same columns since the first version, so older data can be written again. */
function checkVersion(version: number, file: string): void {
  if (version === 0) throw damaged(file, "it has no tables");
  if (version <= migrations.length) return;
  throw new AppError(
    "unavailable",
    `${file} has schema version ${version}, this busbar knows versions up to ` +
      `${migrations.length}: restore it with the newer busbar that wrote it`,
  );
}

function requireWhole(file: string, { problems }: Salvage): void {
  const [first] = problems;
  if (first !== undefined) throw damaged(file, first);
}
