import { randomInt } from "node:crypto";
import { closeSync, fdatasyncSync, openSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import {
  checkRecord,
  describeRevisions,
  refusal,
  type Found,
  type RecordVerdict,
} from "./recovery/check-record.ts";
import { APPLICATION_ID, prepareDirectory, removeBackups } from "./data-directory.ts";
import { createDatabase, readNumber, type Database } from "./database.ts";
import { damaged, isBusy, readError } from "./failures.ts";
import { checksumFirstPage } from "./recovery/first-page.ts";
import { describeHolder, writeHolder } from "./holder.ts";
import { readMeta, readTotals, type Totals, writeMeta } from "./meta.ts";
import { migrate, readVersion } from "./migrations.ts";
import { DurableRecord, newPass } from "./record/durable-record.ts";
import { bootId, lastIssued, readRecord, type ReadRecord } from "./record/record-file.ts";
import type { RecordState } from "./record/record-slot.ts";
import { RowWriter } from "./row-writer.ts";

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
  const rows = new RowWriter(db, totals);
  replay(rows, verdict);
  flush(`${file}-wal`); // the last process may have left commits there that only its journal made durable
  const record = beginRecord(db, opening, found, read, rows);
  writeHolder(directory);
  return createDatabase(db, { directory, file, rows, record, warning: warn(verdict, read) });
}

/** Writes and flushes the commits that only the journal has. Stopped at any point, the next start does the rest. */
function replay(rows: RowWriter, verdict: RecordVerdict): void {
  if (verdict.kind !== "whole" && verdict.kind !== "cut-short") return;
  const batches = verdict.replay.flatMap((entry) => entry.batches);
  if (batches.length > 0) rows.commit(batches);
  if (verdict.kind === "cut-short") rows.skipTo(verdict.to);
}

function flush(file: string): void {
  if (!isThere(file)) return;
  const descriptor = openSync(file, "r+");
  fdatasyncSync(descriptor);
  closeSync(descriptor);
}

/** The record of this start. It is on disk before the database refers to it. */
function beginRecord(
  db: DatabaseSync,
  { directory, file, firstPage, hasLog }: Opening,
  found: Found,
  read: ReadRecord,
  rows: RowWriter,
): DurableRecord {
  const old = read.kind === "read" ? read.state : undefined;
  const identity = found.identity ?? randomInt(2 ** 47);
  const schema = readVersion(db, file);
  // While there is a log, the file may still have the page from before a migration.
  const known = schema === old?.schema ? old.firstPage : undefined;
  const mark = { ...rows.totals };
  const state: RecordState = {
    identity,
    sequence: (old?.sequence ?? 0) + 1,
    durable: mark.revision,
    intended: mark.revision,
    marks: [mark],
    pass: newPass(mark.revision),
    lastId: Math.max(rows.lastId, read.kind === "read" ? lastIssued(read).lastId : 0),
    atMs: Date.now(),
    boot: bootId(),
    schema,
    firstPage: hasLog ? known : schema === found.schema ? firstPage : undefined,
  };
  const record = DurableRecord.open(directory, read, state, mark);
  if (found.identity === undefined) writeMeta(db, "identity", identity);
  return record;
}

function warn(verdict: RecordVerdict, read: ReadRecord): string | undefined {
  if (verdict.kind === "cut-short") {
    return (
      `the machine stopped while ${describeRevisions(verdict.from, verdict.to)} were written, which ` +
      "are not in the database: they were not acknowledged, unless the disk lost acknowledged writes"
    );
  }
  if (verdict.kind === "whole" && verdict.healed !== undefined) {
    const { from, to } = verdict.healed;
    return (
      `the log of the database (busbar.db-wal) was damaged and lacked ${describeRevisions(from, to)}; ` +
      "the journal in busbar.record had them, and nothing is lost: check the disk"
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

export const held = (directory: string, cause: unknown): AppError =>
  new AppError(
    "conflict",
    `${describeHolder(directory)} holds the data in ${directory}: ` +
      `stop it first, or choose another directory`,
    { cause },
  );
