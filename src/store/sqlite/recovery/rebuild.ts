import { randomInt } from "node:crypto";
import { closeSync, fsyncSync, openSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { revision as toRevision } from "../../../core/model/ids.ts";
import { jobIdOfKey } from "../../../core/state/row-keys.ts";
import { TABLES } from "../../../core/state/tables/tables.ts";
import type { LastIssued } from "../../../core/model/recovery.ts";
import { createRowLoader } from "../../../core/state/row-loader.ts";
import { State } from "../../../core/state/state.ts";
import { AppError } from "../../../lib/errors.ts";
import { writeWholeFile } from "../../../lib/files/write-whole-file.ts";
import { createImage } from "../data-directory.ts";
import { unpackWrites } from "../messages.ts";
import { prepareTotals, type Totals, writeMeta } from "../meta.ts";
import { readVersion } from "../migrations.ts";
import type { JournalEntry } from "../record/journal-entry.ts";
import { bootId } from "../record/record-file.ts";
import type { RecordState } from "../record/record-slot.ts";
import { rowChecksum, sumChecksums } from "../row-checksum.ts";
import { type Salvage, salvageRows, type SavedRow } from "./salvage.ts";

export interface Rebuilt extends Salvage {
  readonly rows: number; // of the new database
  readonly record: RecordState;
  /** Rows of tasks whose job is lost. */
  readonly orphans: number;
  /** The largest id in the rows. */
  readonly knownId: number;
}

export interface RebuildOptions {
  /** Commits of the journal that follow this revision. */
  readonly continueWith: (revision: number) => readonly JournalEntry[];
  /** The new database continues beyond this. */
  readonly beyond: (found: Totals, knownId: number) => LastIssued;
}

/**
 * Writes the intact rows of `source` into a new database at `target`. Changes nothing else; the caller moves the database into place, and
 * the record beside it.
 */
export function rebuildDatabase(
  source: DatabaseSync,
  target: string,
  { continueWith, beyond }: RebuildOptions,
): Rebuilt {
  writeWholeFile(target, createImage(target));
  const db = new DatabaseSync(target);
  try {
    db.exec("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN");
    const insert = db.prepare(INSERT);
    let knownId = 0;
    const keep = (row: SavedRow): void => {
      insert.run(...row);
      knownId = Math.max(knownId, idIn(row[0], row[1]));
    };
    const salvage = salvageRows(source, keep);
    const entries = continueWith(salvage.totals.revision);
    writeEntries(db, entries, keep);
    const orphans = salvage.problems.length === 0 ? 0 : removeOrphans(db);
    const { revision } = salvage.totals;
    const found = { ...salvage.totals, revision: entries.at(-1)?.after ?? revision };
    const go = beyond(found, knownId);
    const totals = { ...sumRows(db), revision: go.revision };
    prepareTotals(db)(totals);
    const identity = randomInt(2 ** 47);
    writeMeta(db, "identity", identity);
    db.exec("COMMIT");
    checkFit(db);
    const schema = readVersion(db, target);
    db.close();
    flush(target);
    const record: RecordState = {
      identity,
      sequence: 1,
      durable: totals.revision,
      intended: totals.revision,
      marks: [totals],
      pass: undefined, // the next start begins one
      lastId: go.lastId,
      atMs: Date.now(),
      boot: bootId(),
      schema,
      firstPage: undefined, // the next start reports it
    };
    return { ...salvage, totals: found, rows: totals.rows, record, orphans, knownId };
  } catch (error) {
    if (db.isOpen) db.close();
    rmSync(target, { force: true });
    throw error;
  }
}

const INSERT = "INSERT OR REPLACE INTO rows (key, value, revision, crc) VALUES (?, ?, ?, ?)";

function writeEntries(
  db: DatabaseSync,
  entries: readonly JournalEntry[],
  keep: (row: SavedRow) => void,
): void {
  const remove = db.prepare("DELETE FROM rows WHERE key = ?");
  for (const batch of entries.flatMap((entry) => entry.batches)) {
    for (const { key, value, revision = batch.revision } of unpackWrites(batch)) {
      if (value === undefined) remove.run(key);
      else keep([key, value, revision, rowChecksum(key + value, revision)]);
    }
  }
}

function idIn(key: string, value: string): number {
  if (!key.startsWith("counter/")) return jobIdOfKey(key) ?? 0;
  const change = TABLES.decode(key, value);
  return change.table === "counter" ? change.row.lastJobId : 0;
}

const ORPHANS = `DELETE FROM rows WHERE key >= 'task/' AND key < 'task0'
  AND NOT EXISTS (SELECT 1 FROM rows AS job WHERE job.key = 'job/' || substr(rows.key, 6, 10))`;

const removeOrphans = (db: DatabaseSync): number => Number(db.prepare(ORPHANS).run().changes);

function sumRows(db: DatabaseSync): { rows: number; digest: number } {
  let rows = 0;
  let digest = 0;
  for (const { crc } of db.prepare("SELECT crc FROM rows").iterate()) {
    rows += 1;
    digest = sumChecksums(digest, Number(crc));
  }
  return { rows, digest };
}

const ROWS = "SELECT key, value, revision FROM rows ORDER BY key";

/** Inconsistent rows would stop the next start: better to report them now. */
function checkFit(db: DatabaseSync): void {
  const state = new State();
  state.startLoading();
  const load = createRowLoader(state);
  try {
    for (const { key, value, revision } of db.prepare(ROWS).iterate()) {
      load(String(key), String(value), toRevision(Number(revision)));
    }
    state.finishLoading();
  } catch (cause) {
    throw new AppError(
      "internal",
      "the rows that are left do not fit together: restore a backup (busbar restore)",
      { cause },
    );
  }
}

function flush(file: string): void {
  const descriptor = openSync(file, "r+");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
