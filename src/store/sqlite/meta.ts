import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";

/**
 * One number about the whole database. Every version reads `schema`, older ones too. `identity` is drawn once, and shows that a record of
 * the database exists (durable-record.ts). `lastId` is the largest id that a batch in the database has named; earlier versions have none.
 */
export type MetaName = "schema" | "identity" | "lastId" | keyof Totals;

/**
 * The expected totals of all rows. The transaction that changes the rows also changes them, and each load compares them: a lost row changes
 * the count, a row in an older state changes the digest.
 */
export interface Totals {
  revision: number; // of the last batch
  rows: number;
  digest: number; // the sum of all rows' checksums, modulo 2^32
}

const upsertSql = (rows: number): string => `INSERT INTO meta (name, value, crc)
  VALUES ${Array.from({ length: rows }, () => "(?, ?, ?)").join(", ")}
  ON CONFLICT (name) DO UPDATE SET value = excluded.value, crc = excluded.crc`;

const checksum = (name: string, value: number): number => crc32(`${name}=${value}`);

/** Undefined when the value is missing or damaged. */
export function readMeta(db: DatabaseSync, name: MetaName): number | undefined {
  const row = db.prepare("SELECT value, crc FROM meta WHERE name = ?").get(name);
  if (row === undefined || typeof row["value"] !== "number") return undefined;
  return row["crc"] === checksum(name, row["value"]) ? row["value"] : undefined;
}

export function writeMeta(db: DatabaseSync, name: MetaName, value: number): void {
  db.prepare(upsertSql(1)).run(name, value, checksum(name, value));
}

/** Prepared once, because it runs in most transactions. */
export function prepareMeta(db: DatabaseSync, name: MetaName): (value: number) => void {
  const statement = db.prepare(upsertSql(1));
  return (value) => void statement.run(name, value, checksum(name, value));
}

export function readTotals(db: DatabaseSync): Totals | undefined {
  const revision = readMeta(db, "revision");
  const rows = readMeta(db, "rows");
  const digest = readMeta(db, "digest");
  if (revision === undefined || rows === undefined || digest === undefined) return undefined;
  return { revision, rows, digest };
}

/** Prepared once, because it runs in every transaction. */
export function prepareTotals(db: DatabaseSync): (totals: Totals) => void {
  const statement = db.prepare(upsertSql(3));
  return ({ revision, rows, digest }) => {
    const totals = [
      ["revision", revision, checksum("revision", revision)],
      ["rows", rows, checksum("rows", rows)],
      ["digest", digest, checksum("digest", digest)],
    ];
    statement.run(...totals.flat());
  };
}
