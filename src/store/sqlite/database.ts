import { randomInt } from "node:crypto";
import { closeSync, fdatasyncSync, openSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { copyDatabase } from "./recovery/backup.ts";
import {
  checkRecord,
  describeRevisions,
  refusal,
  type Found,
  type RecordVerdict,
} from "./recovery/check-record.ts";
import { APPLICATION_ID, prepareDirectory, removeBackups } from "./data-directory.ts";
import {
  bootId,
  DurableRecord,
  readRecord,
  writeNewRecord,
  type ReadRecord,
} from "./durable-record.ts";
import { damaged, isBusy, readError } from "./failures.ts";
import { checksumFirstPage } from "./recovery/first-page.ts";
import { describeHolder, removeHolder, writeHolder } from "./holder.ts";
import type { PackedBatch, PackedRows } from "./messages.ts";
import { readMeta, readTotals, type Totals, writeMeta } from "./meta.ts";
import { migrate, readVersion } from "./migrations.ts";
import type { Mark, RecordState } from "./record-slot.ts";
import { readRows } from "./row-reader.ts";
import { RowWriter } from "./row-writer.ts";

/** The log (WAL), in bytes. */
export interface LogState {
  /** To move into the database by a checkpoint. */
  readonly bytes: number;
  /** Its greatest length so far: its file is that long. */
  readonly longestBytes: number;
}

/** The open database, used by one thread only. Every method except `commit` is synchronous. */
export interface Database {
  readonly file: string;
  /** Reports a problem that a person should know, though it stops nothing. */
  readonly warning: string | undefined;
  revision(): number;
  lastId(): number;
  readRows(): Generator<PackedRows>;
  /** When it returns, the batches are on disk; when it resolves, so is the record of them. */
  commit(batches: readonly PackedBatch[]): Promise<void>;
  /** Copies the whole database into a new file while commits continue. */
  backup(file: string): Promise<void>;
  log(): LogState;
  checkpoint(): void;
  /** Frees cached pages. */
  shrink(): void;
  close(): void;
}

/**
 * Opens or creates the database in the directory, and locks it against every other process. Refuses a database that is older than its
 * record before it writes anything: closing the database would move the rest of the log into it.
 */
export function openDatabase(directory: string): Database {
  const file = prepareDirectory(directory);
  try {
    const hasLog = isThere(`${file}-wal`);
    const firstPage = checkBeforeOpening(directory, file);
    const db = new DatabaseSync(file, { timeout: 0 });
    try {
      return openUnderLock(db, { directory, file, firstPage, hasLog });
    } catch (error) {
      if (db.isOpen) db.close();
      throw error;
    }
  } catch (error) {
    if (isBusy(error)) throw held(directory, error);
    throw readError(error, file);
  }
}

const isThere = (file: string): boolean =>
  (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;

/** Checks the database and its log without changing them; returns the checksum of the first page. */
function checkBeforeOpening(directory: string, file: string): number {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 0 });
  try {
    checkProgram(db, file); // fails when any process holds it, this one included: then nothing may touch it
    const firstPage = checksumFirstPage(file);
    const verdict = checkRecord(readRecord(directory), findOut(db, file, firstPage), bootId());
    const refused = refusal(verdict, directory, file);
    if (refused !== undefined) throw refused;
    return firstPage;
  } finally {
    db.close();
  }
}

/** The state that is compared with the record. */
export function findOut(db: DatabaseSync, file: string, firstPage: number): Found {
  const schema = readVersion(db, file);
  if (schema === 0) return { schema, firstPage, totals: EMPTY, identity: undefined };
  return { schema, firstPage, totals: readTotals(db), identity: readMeta(db, "identity") };
}

const EMPTY: Totals = { revision: 0, rows: 0, digest: 0 };

interface Opening {
  readonly directory: string;
  readonly file: string;
  readonly firstPage: number;
  readonly hasLog: boolean;
}

function openUnderLock(db: DatabaseSync, opening: Opening): Database {
  const { directory, file } = opening;
  configure(db, file);
  rmSync(`${file}-shm`, { force: true }); // only readers use it, and no other process may read now
  removeBackups(directory); // left by a killed server
  const read = readRecord(directory);
  const found = findOut(db, file, opening.firstPage);
  const verdict = checkRecord(read, found, bootId());
  const refused = refusal(verdict, directory, file);
  if (refused !== undefined) throw refused;
  migrate(db, file);
  const totals = readTotals(db);
  if (totals === undefined) throw damaged(file, "its totals are not what was written");
  const writer = new RowWriter(db, totals);
  if (verdict.kind === "cut-short") writer.skipTo(verdict.to);
  const record = beginRecord(db, opening, found, read, writer.totals);
  writeHolder(directory);
  return createDatabase(db, { directory, file, writer, record, warning: warn(verdict, read) });
}

/** The record of this start. It is on disk before the database refers to it. */
function beginRecord(
  db: DatabaseSync,
  { directory, file, firstPage, hasLog }: Opening,
  found: Found,
  read: ReadRecord,
  totals: Readonly<Totals>,
): DurableRecord {
  const old = read.kind === "read" ? read.state : undefined;
  const identity = found.identity ?? randomInt(2 ** 47);
  const schema = readVersion(db, file);
  // While there is a log, the file may still have the page from before a migration.
  const known = schema === old?.schema ? old.firstPage : undefined;
  const state: RecordState = {
    identity,
    sequence: (old?.sequence ?? 0) + 1,
    durable: { ...totals },
    intended: { ...totals },
    lastId: old?.lastId ?? 0,
    atMs: Date.now(),
    boot: bootId(),
    schema,
    firstPage: hasLog ? known : schema === found.schema ? firstPage : undefined,
  };
  writeNewRecord(directory, state);
  if (found.identity === undefined) writeMeta(db, "identity", identity);
  return new DurableRecord(directory, state);
}

function warn(verdict: RecordVerdict, read: ReadRecord): string | undefined {
  if (verdict.kind === "cut-short") {
    return (
      `the machine stopped while ${describeRevisions(verdict.from, verdict.to)} were written, which ` +
      "are not in the database: they were not acknowledged, unless the disk lost acknowledged writes"
    );
  }
  if (read.kind === "read" && read.badSlots > 0 && read.state.boot === bootId()) {
    return `${read.badSlots} slots of busbar.record were damaged; the others are complete`;
  }
  return undefined;
}

function configure(db: DatabaseSync, file: string): void {
  // The lock first: with it SQLite needs no shared memory file. Taking it is the first real access.
  db.exec("PRAGMA locking_mode = EXCLUSIVE");
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL"); // NORMAL would lose the last batches on power loss
  db.exec("PRAGMA wal_autocheckpoint = 0"); // an automatic checkpoint would delay one unlucky commit
  db.exec(`PRAGMA journal_size_limit = ${limits.storeWalBytesMax}`);
  db.exec(`PRAGMA cache_size = -${limits.storeCacheBytes / 1024}`);
  checkProgram(db, file);
  db.exec("BEGIN IMMEDIATE; ROLLBACK"); // a read-only file fails here, not later
}

/** Also fails when another process holds the database. */
export function checkProgram(db: DatabaseSync, file: string): void {
  db.prepare("SELECT count(*) FROM sqlite_schema").get(); // the pragma alone needs no lock
  if (readNumber(db, "application_id") === APPLICATION_ID) return;
  throw damaged(file, "it is a database of another program");
}

interface Parts {
  readonly directory: string;
  readonly file: string;
  readonly writer: RowWriter;
  readonly record: DurableRecord;
  readonly warning: string | undefined;
}

function createDatabase(db: DatabaseSync, parts: Parts): Database {
  const { directory, file, writer, record, warning } = parts;
  const pageBytes = readNumber(db, "page_size");
  let longestPages = 0;
  // Commits flush the log with fdatasync. SQLite's fsync would also flush its times.
  db.exec("PRAGMA synchronous = NORMAL");
  const logFile = openSync(`${file}-wal`, "r+");
  const logState = db.prepare("PRAGMA wal_checkpoint(NOOP)"); // only reports
  return {
    file,
    warning,
    revision: () => writer.totals.revision,
    lastId: () => record.state.lastId,
    readRows: () => readRows(db, file, writer.totals),
    commit(batches) {
      const lastId = Math.max(...batches.map((batch) => batch.lastId));
      let recorded: Promise<void> = Promise.resolve();
      const mark = (): Mark => ({ ...writer.totals });
      try {
        writer.commit(batches, () => {
          recorded = record.intend(mark(), lastId);
        });
        fdatasyncSync(logFile);
      } catch (error) {
        recorded.catch(() => undefined); // the first failure is the one to report
        throw error;
      }
      record.confirm(mark());
      return recorded;
    },
    backup: (target) => copyDatabase(db, target),
    log() {
      const { log, checkpointed } = logState.get() ?? {};
      const [length, moved] = [Number(log), Number(checkpointed)];
      longestPages = Math.max(longestPages, length);
      return { bytes: (length - moved) * pageBytes, longestBytes: longestPages * pageBytes };
    },
    checkpoint: () => db.exec("PRAGMA wal_checkpoint(PASSIVE)"),
    shrink: () => db.exec("PRAGMA shrink_memory"),
    close() {
      record.close();
      closeSync(logFile);
      removeHolder(directory);
      db.close(); // closing the last connection also moves the log into the database
    },
  };
}

function readNumber(db: DatabaseSync, pragma: string): number {
  return Number(db.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
}

export const held = (directory: string, cause: unknown): AppError =>
  new AppError(
    "conflict",
    `${describeHolder(directory)} holds the data in ${directory}: ` +
      `stop it first, or choose another directory`,
    { cause },
  );
