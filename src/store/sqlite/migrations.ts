import type { DatabaseSync } from "node:sqlite";
import { AppError } from "../../lib/errors.ts";
import { damaged } from "./failures.ts";
import { readMeta, writeMeta } from "./meta.ts";

/** Changes the layout by one version. Runs inside a transaction that also writes the version. */
export type Migration = (db: DatabaseSync) => void;

/**
 * The ladder: the step at index n leads from version n to n + 1. Version 0 is an empty database, so a new database takes the same steps as
 * an old one. Released steps never change.
 *
 * A start replays the journal after these steps: a step that changes the values of rows must do so with those of the journal, too.
 */
export const migrations: readonly Migration[] = [createTables, separateKeys];

/** Migrates the database to the newest version, completely or not at all. */
export function migrate(db: DatabaseSync, file: string, ladder = migrations): void {
  const newest = ladder.length;
  const version = readVersion(db, file);
  if (version > newest) {
    throw new AppError(
      "unavailable",
      `${file} has schema version ${version}, this busbar knows versions up to ${newest}: ` +
        `use the newer busbar that wrote it, or restore a backup from before the upgrade`,
    );
  }
  if (version === newest) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    for (const step of ladder.slice(version)) step(db);
    writeMeta(db, "schema", newest);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** 0 for a database without tables. */
export function readVersion(db: DatabaseSync, file: string): number {
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get();
  if (table === undefined) return 0;
  const version = readMeta(db, "schema");
  if (version === undefined) throw damaged(file, "its schema version is not what was written");
  return version;
}

function createTables(db: DatabaseSync): void {
  db.exec(`
    CREATE TABLE meta (
      name TEXT PRIMARY KEY, value INTEGER NOT NULL, crc INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE rows (
      key TEXT PRIMARY KEY, value TEXT NOT NULL, revision INTEGER NOT NULL, crc INTEGER NOT NULL
    ) WITHOUT ROWID;
  `);
  for (const name of ["revision", "rows", "digest"] as const) writeMeta(db, name, 0);
}

/**
 * Moves keys into their own index. Without a rowid the table is ordered by whole rows: SQLite read all of a long row whenever it compared
 * its key, so that one graph of 30 MB made commits of single jobs take 100 to 500 ms.
 */
function separateKeys(db: DatabaseSync): void {
  db.exec(`
    CREATE TABLE rows_by_id (
      key TEXT PRIMARY KEY, value TEXT NOT NULL, revision INTEGER NOT NULL, crc INTEGER NOT NULL
    );
    INSERT INTO rows_by_id (key, value, revision, crc)
      SELECT key, value, revision, crc FROM rows ORDER BY key;
    DROP TABLE rows;
    ALTER TABLE rows_by_id RENAME TO rows;
  `);
}
