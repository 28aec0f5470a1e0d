import { DatabaseSync } from "node:sqlite";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { APPLICATION_ID, prepareDirectory } from "./data-directory.ts";
import { damaged, isBusy, readError } from "./failures.ts";
import { describeHolder, removeHolder, writeHolder } from "./holder.ts";
import type { PackedBatch, PackedRows } from "./messages.ts";
import { readTotals } from "./meta.ts";
import { migrate } from "./migrations.ts";
import { readRows } from "./row-reader.ts";
import { RowWriter } from "./row-writer.ts";

/** The open database, used by one thread only. Every method blocks until it is done. */
export interface Database {
  readonly file: string;
  revision(): number;
  readRows(): Generator<PackedRows>;
  /** Returns when every batch is on the disk. */
  commit(batches: readonly PackedBatch[]): void;
  /** Bytes in the log (WAL) that a checkpoint would move into the database. */
  logBytes(): number;
  checkpoint(): void;
  close(): void;
}

/** Opens or creates the database in the directory, and holds it against every other process. */
export function openDatabase(directory: string): Database {
  const file = prepareDirectory(directory);
  const db = new DatabaseSync(file, { open: false, timeout: 0 });
  try {
    db.open();
    configure(db, file);
    migrate(db, file);
    const totals = readTotals(db);
    if (totals === undefined) throw damaged(file, "its totals are not what was written");
    writeHolder(directory);
    return createDatabase(db, directory, file, new RowWriter(db, totals));
  } catch (error) {
    if (db.isOpen) db.close();
    if (isBusy(error)) throw held(directory, error);
    throw readError(error, file);
  }
}

function configure(db: DatabaseSync, file: string): void {
  // First the lock, as it also spares the shared memory file; taking it is the first real access.
  db.exec("PRAGMA locking_mode = EXCLUSIVE");
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL"); // NORMAL would lose the last batches with the power
  db.exec("PRAGMA wal_autocheckpoint = 0"); // it would make one unlucky commit wait
  db.exec(`PRAGMA journal_size_limit = ${limits.storeWalBytesMax}`);
  db.exec(`PRAGMA cache_size = -${limits.storeCacheBytes / 1024}`);
  if (readNumber(db, "application_id") !== APPLICATION_ID) {
    throw damaged(file, "it is a database of another program");
  }
  db.exec("BEGIN IMMEDIATE; ROLLBACK"); // a file that we cannot write fails here, not later
}

function createDatabase(
  db: DatabaseSync,
  directory: string,
  file: string,
  writer: RowWriter,
): Database {
  const pageBytes = readNumber(db, "page_size");
  const logState = db.prepare("PRAGMA wal_checkpoint(NOOP)"); // reports, and does nothing
  return {
    file,
    revision: () => writer.totals.revision,
    readRows: () => readRows(db, file, writer.totals),
    commit: (batches) => writer.commit(batches),
    logBytes() {
      const { log, checkpointed } = logState.get() ?? {};
      return (Number(log) - Number(checkpointed)) * pageBytes;
    },
    checkpoint: () => db.exec("PRAGMA wal_checkpoint(PASSIVE)"),
    close() {
      removeHolder(directory);
      db.close(); // as the last connection it also moves the log into the database
    },
  };
}

function readNumber(db: DatabaseSync, pragma: string): number {
  return Number(db.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
}

const held = (directory: string, cause: unknown): AppError =>
  new AppError(
    "conflict",
    `${describeHolder(directory)} holds the data in ${directory}: ` +
      `stop it first, or choose another directory`,
    { cause },
  );
