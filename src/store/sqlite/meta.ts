import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";

/**
 * One number about the whole database. `schema` is read by every version, older ones too;
 * `identity` is drawn once, and says that there is a record of it (durable-record.ts).
 */
export type MetaName = "schema" | "identity" | keyof Totals;

/**
 * What all rows must add up to. Changed in the transaction that changes the rows, and compared
 * after loading: a lost row changes the count, a row in an older state changes the digest.
 */
export interface Totals {
  revision: number; // of the last batch
  rows: number;
  digest: number; // the sum of all rows' checksums, modulo 2^32
}

const UPSERT = `INSERT INTO meta (name, value, crc) VALUES (?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value, crc = excluded.crc`;

const checksum = (name: string, value: number): number => crc32(`${name}=${value}`);

/** Undefined when the value is missing or damaged. */
export function readMeta(db: DatabaseSync, name: MetaName): number | undefined {
  const row = db.prepare("SELECT value, crc FROM meta WHERE name = ?").get(name);
  if (row === undefined || typeof row["value"] !== "number") return undefined;
  return row["crc"] === checksum(name, row["value"]) ? row["value"] : undefined;
}

export function writeMeta(db: DatabaseSync, name: MetaName, value: number): void {
  db.prepare(UPSERT).run(name, value, checksum(name, value));
}

export function readTotals(db: DatabaseSync): Totals | undefined {
  const revision = readMeta(db, "revision");
  const rows = readMeta(db, "rows");
  const digest = readMeta(db, "digest");
  if (revision === undefined || rows === undefined || digest === undefined) return undefined;
  return { revision, rows, digest };
}

/** Prepared once: it runs in every transaction. */
export function prepareTotals(db: DatabaseSync): (totals: Totals) => void {
  const statement = db.prepare(UPSERT);
  const write = (name: MetaName, value: number): void => {
    statement.run(name, value, checksum(name, value));
  };
  return ({ revision, rows, digest }) => {
    write("revision", revision);
    write("rows", rows);
    write("digest", digest);
  };
}
