import type { DatabaseSync } from "node:sqlite";
import { AppError, describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { readTotals, type Totals } from "../meta.ts";
import { rowChecksum, sumChecksums } from "../row-checksum.ts";

export type SavedRow = readonly [key: string, value: string, revision: number, crc: number];

/** The readable and the unreadable rows of a database. */
export interface Salvage {
  readonly totals: Totals; // of the intact rows; the revision is that of the last batch
  readonly problems: readonly string[];
  readonly damagedRows: number;
}

const COLUMNS = "SELECT key, value, revision, crc FROM rows";
const PAGE = `LIMIT ${limits.storeChunkRowsMax}`;
const PROBLEMS_MAX = 20;

/** Passes every intact row to `keep`; reads from both ends if the middle is unreadable. */
export function salvageRows(db: DatabaseSync, keep: (row: SavedRow) => void): Salvage {
  const found: Totals = { revision: 0, rows: 0, digest: 0 };
  const problems: string[] = [];
  let damagedRows = 0;
  let last: string | undefined;
  const complain = (what: string): void => {
    if (problems.length < PROBLEMS_MAX) problems.push(what);
  };
  const take = (row: SavedRow): void => {
    const [key, value, revision, crc] = row;
    if (rowChecksum(key + value, revision) !== crc) {
      damagedRows += 1;
      complain(`row ${JSON.stringify(key)} is not what was written`);
      return;
    }
    found.rows += 1;
    found.digest = sumChecksums(found.digest, crc);
    found.revision = Math.max(found.revision, revision);
    keep(row);
  };
  const read = (sql: string, ...key: readonly string[]): readonly SavedRow[] =>
    db.prepare(sql, { returnArrays: true }).all(...key) as unknown as readonly SavedRow[];

  let isBroken = false;
  try {
    let page = read(`${COLUMNS} ORDER BY key ${PAGE}`);
    for (
      ;
      page.length > 0;
      page = read(`${COLUMNS} WHERE key > ? ORDER BY key ${PAGE}`, last ?? "")
    ) {
      for (const row of page) take(row);
      last = page.at(-1)?.[0];
    }
  } catch (error) {
    isBroken = true;
    complain(`rows after ${JSON.stringify(last ?? "")} cannot be read: ${describeChain(error)}`);
  }
  if (isBroken) {
    const from = last ?? "";
    let first: string | undefined;
    try {
      const next = (): readonly SavedRow[] =>
        first === undefined
          ? read(`${COLUMNS} WHERE key > ? ORDER BY key DESC LIMIT 1`, from)
          : read(`${COLUMNS} WHERE key > ? AND key < ? ORDER BY key DESC LIMIT 1`, from, first);
      for (let page = next(); page.length > 0; page = next()) {
        for (const row of page) take(row);
        first = page.at(-1)?.[0];
      }
    } catch (error) {
      complain(`nor before ${JSON.stringify(first ?? "the end")}: ${describeChain(error)}`);
    }
  }
  return { ...compare(db, found, isBroken, complain), problems, damagedRows };
}

function compare(
  db: DatabaseSync,
  found: Totals,
  isBroken: boolean,
  complain: (what: string) => void,
): Pick<Salvage, "totals"> {
  let said: Totals | undefined;
  try {
    said = readTotals(db);
  } catch {
    said = undefined; // as when they differ from the written row
  }
  if (said === undefined) complain("its totals are not what was written");
  else if (said.rows !== found.rows) {
    complain(`it holds ${found.rows} good rows where ${said.rows} were written`);
  } else if (said.digest !== found.digest) complain("a row is not the newest one written");
  if (!isBroken) checkPages(db, complain);
  return { totals: { ...found, revision: Math.max(found.revision, said?.revision ?? 0) } };
}

function checkPages(db: DatabaseSync, complain: (what: string) => void): void {
  try {
    const [first] = Object.values(db.prepare("PRAGMA integrity_check(1)").get() ?? {});
    if (first !== "ok") complain(`its pages do not fit together: ${String(first)}`);
  } catch (error) {
    complain(`its pages cannot be read: ${AppError.from(error, "check pages").message}`);
  }
}
