import { AppError } from "../../../lib/errors.ts";
import { damaged } from "../failures.ts";
import { recordFile, type ReadRecord } from "../durable-record.ts";
import type { Mark, RecordState } from "../record-slot.ts";

/** The database as it was found. */
export interface Found {
  readonly totals: Mark | undefined; // undefined: they are damaged
  readonly identity: number | undefined; // undefined: no version with records ever opened it
  readonly schema: number | undefined;
  readonly firstPage: number; // of the file, before anything was written to it
}

/** The result of comparing a database with its record. */
export type RecordVerdict =
  | { readonly kind: "new" } // no record exists, and none ever did
  | { readonly kind: "whole" }
  /** The machine stopped during a commit that is not in the log: no client got an answer to it. */
  | { readonly kind: "cut-short"; readonly from: number; readonly to: number }
  | { readonly kind: "older"; readonly from: number; readonly to: number; readonly atMs: number }
  | { readonly kind: "wrong"; readonly what: string }; // the part of the record or of the first page

/** Compares the database with its record. */
export function checkRecord(record: ReadRecord, found: Found, boot: string): RecordVerdict {
  if (record.kind === "damaged") return wrong("none of its slots is what was written");
  if (record.kind === "missing") {
    if (found.identity === undefined) return { kind: "new" };
    return wrong("it is missing, although the database was written with one");
  }
  const { state } = record;
  if (found.identity !== undefined && found.identity !== state.identity) {
    return wrong("it was written for another database");
  }
  if (found.totals === undefined) return { kind: "whole" }; // the caller, which reads the totals, reports it
  const page = checkFirstPage(state, found);
  return page ?? checkTotals(state, found.totals, boot);
}

function checkFirstPage(state: RecordState, found: Found): RecordVerdict | undefined {
  if (state.firstPage === undefined || state.schema !== found.schema) return undefined;
  if (state.firstPage === found.firstPage) return undefined;
  return { kind: "wrong", what: FIRST_PAGE };
}

export const FIRST_PAGE = "first page";

function checkTotals({ durable, intended, atMs, boot }: RecordState, totals: Mark, now: string) {
  const { revision } = totals;
  const older = (to: number): RecordVerdict => ({ kind: "older", from: revision + 1, to, atMs });
  if (revision < durable.revision) return older(durable.revision);
  for (const mark of [durable, intended]) {
    if (mark.revision === revision && !isSame(mark, totals)) {
      return wrong(`at revision ${revision} it had other rows than the database has`);
    }
  }
  const isCut = revision < intended.revision && (boot !== now || now === "");
  const whole: RecordVerdict = { kind: "whole" };
  if (!isCut) return whole;
  return { kind: "cut-short", from: revision + 1, to: intended.revision } satisfies RecordVerdict;
}

const isSame = (one: Mark, other: Mark): boolean =>
  one.rows === other.rows && one.digest === other.digest;

const wrong = (what: string): RecordVerdict => ({ kind: "wrong", what });

/** Why the store refuses the database, and what to do; undefined when it does not. */
export function refusal(
  verdict: RecordVerdict,
  directory: string,
  file: string,
): AppError | undefined {
  switch (verdict.kind) {
    case "new":
    case "whole":
    case "cut-short":
      return undefined;
    case "older": {
      const { from, to, atMs } = verdict;
      const when = new Date(atMs).toISOString();
      return new AppError(
        "internal",
        `${file} is damaged: it and its log (busbar.db-wal) lack ${describeRevisions(from, to)}, ` +
          `the last of which was acknowledged at ${when}; restore a backup, or see what is lost ` +
          `with: busbar recover --data ${directory}`,
      );
    }
    case "wrong":
      if (verdict.what === FIRST_PAGE)
        return damaged(file, "its first page is not what was written");
      return new AppError(
        "internal",
        `${recordFile(directory)} is damaged: ${verdict.what}; put back the file that belongs to ` +
          `busbar.db, restore a backup, or see what is there with: busbar recover --data ${directory}`,
      );
  }
}

export const describeRevisions = (from: number, to: number): string =>
  from === to ? `revision ${from}` : `revisions ${from} to ${to}`;
