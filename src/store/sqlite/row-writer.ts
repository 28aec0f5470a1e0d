import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { invariant } from "../../lib/invariant.ts";
import { DELETED, type PackedBatch, type PackedWrites } from "./messages.ts";
import { prepareMeta, prepareTotals, readMeta, type Totals } from "./meta.ts";
import { rowChecksum, sumChecksums } from "./row-checksum.ts";

// A call from JavaScript into SQLite costs as much as writing the row: up to 16 rows share a call.
const ROWS_PER_STATEMENT = [16, 8, 4, 2, 1] as const;
const PARAMETERS_PER_ROW = 4;
const PARAMETERS_MAX = ROWS_PER_STATEMENT[0] * PARAMETERS_PER_ROW;

/** Writes batches and updates the totals. After a failure it must not be used again: its totals may be ahead of the database. */
export class RowWriter {
  readonly #db: DatabaseSync;
  readonly #totals: Totals;
  readonly #begin: StatementSync;
  readonly #end: StatementSync;
  readonly #upserts: readonly { readonly parameters: number; readonly statement: StatementSync }[];
  readonly #remove: StatementSync;
  readonly #writeTotals: (totals: Totals) => void;
  readonly #writeLastId: (lastId: number) => void;
  #lastId: number;
  readonly #waiting: SQLInputValue[] = []; // parameters of rows not yet written
  #before = 0; // the revision of the batch before the one that is written

  constructor(db: DatabaseSync, totals: Totals) {
    this.#db = db;
    this.#totals = totals;
    // SQLite calls it for each row that existed before: the only cheap way to find out.
    db.function("row_goes", { directOnly: true }, (crc, revision) => {
      this.#takeRow(crc, revision);
      return 1;
    });
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#end = db.prepare("COMMIT");
    this.#upserts = ROWS_PER_STATEMENT.map((rows) => ({
      parameters: rows * PARAMETERS_PER_ROW,
      statement: db.prepare(upsertSql(rows)),
    }));
    this.#remove = db.prepare("DELETE FROM rows WHERE key = ? AND row_goes(crc, revision)");
    this.#writeTotals = prepareTotals(db);
    this.#writeLastId = prepareMeta(db, "lastId");
    this.#lastId = readMeta(db, "lastId") ?? 0;
  }

  /** The largest id that the batches in the database have named: the record may not have heard of the last ones. */
  get lastId(): number {
    return this.#lastId;
  }

  get totals(): Readonly<Totals> {
    return this.#totals;
  }

  /** Writes all batches in one transaction. */
  commit(batches: readonly PackedBatch[]): void {
    this.#begin.run();
    try {
      for (const batch of batches) this.#writeBatch(batch);
      this.#writeTotals(this.#totals);
      this.#noteIds(batches);
      this.#end.run();
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  /** Continues from a revision that no client has seen yet. */
  skipTo(revision: number): void {
    this.#totals.revision = revision;
    this.#writeTotals(this.#totals);
  }

  #noteIds(batches: readonly PackedBatch[]): void {
    const lastId = Math.max(this.#lastId, ...batches.map((batch) => batch.lastId));
    if (lastId > this.#lastId) this.#writeLastId(lastId);
    this.#lastId = lastId;
  }

  #writeBatch({ revision, parts }: PackedBatch): void {
    const deleted: string[] = [];
    this.#before = this.#totals.revision;
    this.#totals.revision = revision;
    for (const part of parts) this.#writePart(part, deleted);
    this.#flush();
    // Deletes come last, so that they find a row which this batch has just written.
    for (const key of deleted) this.#remove.run(key);
  }

  #writePart({ text, lengths, revisions }: PackedWrites, deleted: string[]): void {
    let at = 0;
    for (let index = 0; index < lengths.length; index += 2) {
      const keyEnd = at + (lengths[index] ?? 0);
      const valueLength = lengths[index + 1] ?? 0;
      const key = text.substring(at, keyEnd);
      if (valueLength === DELETED) {
        deleted.push(key);
        at = keyEnd;
      } else {
        const end = keyEnd + valueLength;
        const revision = revisions[index / 2] ?? 0;
        const crc = rowChecksum(text.substring(at, end), revision);
        this.#put(key, text.substring(keyEnd, end), revision, crc);
        at = end;
      }
    }
  }

  #put(key: string, value: string, revision: number, crc: number): void {
    this.#totals.rows += 1;
    this.#totals.digest = sumChecksums(this.#totals.digest, crc);
    this.#waiting.push(key, value, revision, crc);
    if (this.#waiting.length === PARAMETERS_MAX) this.#flush();
  }

  /** A row is replaced or deleted. A row of this same batch means that a key occurs twice. */
  #takeRow(crc: SQLOutputValue | undefined, revision: SQLOutputValue | undefined): void {
    invariant(Number(revision) <= this.#before, "a key stands twice in one batch");
    this.#totals.rows -= 1;
    this.#totals.digest = sumChecksums(this.#totals.digest, 0, Number(crc));
  }

  #flush(): void {
    let at = 0;
    for (const { parameters, statement } of this.#upserts) {
      if (this.#waiting.length - at < parameters) continue;
      statement.run(...this.#waiting.slice(at, (at += parameters)));
    }
    this.#waiting.length = 0;
  }
}

function upsertSql(rows: number): string {
  return `INSERT INTO rows (key, value, revision, crc)
    VALUES ${Array.from({ length: rows }, () => "(?, ?, ?, ?)").join(", ")}
    ON CONFLICT (key) DO UPDATE SET
      value = excluded.value,
      revision = excluded.revision,
      crc = excluded.crc
    WHERE row_goes(crc, revision)`;
}
