import { AppError } from "../../../lib/errors.ts";
import { damaged } from "../failures.ts";
import type { JournalEntry } from "../record/journal-entry.ts";
import { recordFile, type ReadableRecord, type ReadRecord } from "../record/record-file.ts";
import type { Mark, RecordState } from "../record/record-slot.ts";

/** The database as it was found. */
export interface Found {
  readonly totals: Mark | undefined; // undefined: they are damaged
  readonly identity: number | undefined; // undefined: no version with records ever opened it
  readonly schema: number | undefined;
  readonly firstPage: number; // of the file, before anything was written to it
}

interface Revisions {
  readonly from: number;
  readonly to: number;
}

/** The result of comparing a database with its record. `replay` are the entries of the journal that the database lacks. */
export type RecordVerdict =
  | { readonly kind: "new" } // no record exists, and none ever did
  | {
      readonly kind: "whole";
      readonly replay: readonly JournalEntry[];
      /** The database had them when the process was killed: its log was damaged later. */
      readonly healed: Revisions | undefined;
    }
  /** The machine stopped during a commit that is not in the journal: no client got an answer to it. */
  | ({ readonly kind: "cut-short"; readonly replay: readonly JournalEntry[] } & Revisions)
  | ({
      readonly kind: "older";
      readonly atMs: number;
      readonly isAcknowledged: boolean;
    } & Revisions)
  | { readonly kind: "wrong"; readonly what: string }; // the part of the record or of the first page

/** Compares the database with its record. */
export function checkRecord(record: ReadRecord, found: Found, boot: string): RecordVerdict {
  if (record.kind === "damaged") return wrong("its slots are not what was written");
  if (record.kind === "missing") {
    if (found.identity === undefined) return { kind: "new" };
    return wrong("it is missing, although the database was written with one");
  }
  const { state } = record;
  if (found.identity !== undefined && found.identity !== state.identity) {
    return wrong("it was written for another database");
  }
  if (state.pass !== undefined && !record.isComplete)
    return wrong("the end of its journal is gone");
  // The caller, which reads the totals, reports damaged ones.
  if (found.totals === undefined) return { kind: "whole", replay: [], healed: undefined };
  const page = checkFirstPage(state, found);
  return page ?? checkTotals(record, found.totals, boot);
}

function checkFirstPage(state: RecordState, found: Found): RecordVerdict | undefined {
  if (state.firstPage === undefined || state.schema !== found.schema) return undefined;
  if (state.firstPage === found.firstPage) return undefined;
  return { kind: "wrong", what: FIRST_PAGE };
}

export const FIRST_PAGE = "first page";

function checkTotals(record: ReadableRecord, totals: Mark, boot: string): RecordVerdict {
  const { state } = record;
  const { revision } = totals;
  for (const mark of state.marks) {
    if (
      mark.revision === revision &&
      (mark.rows !== totals.rows || mark.digest !== totals.digest)
    ) {
      return wrong(`at revision ${revision} it had other rows than the database has`);
    }
  }
  const replay = entriesAfter(record, revision);
  if (replay === undefined) return wrong(`its journal does not continue from revision ${revision}`);
  const reached = replay.at(-1)?.after ?? revision;
  const required = requiredRevision(record, boot);
  if (reached < required) {
    const isAcknowledged = reached < Math.max(state.durable, record.last?.before ?? 0);
    const { atMs } = state;
    return { kind: "older", from: reached + 1, to: required, atMs, isAcknowledged };
  }
  if (reached < state.intended && !isSameBoot(state, boot)) {
    return { kind: "cut-short", replay, from: reached + 1, to: state.intended };
  }
  return { kind: "whole", replay, healed: findHealed(state, revision, boot) };
}

/**
 * The entries that lead on from this revision. None when the database is older than the journal, or as new as it: then they do not matter.
 * Undefined when the database is at a revision that the journal never was at.
 */
export function entriesAfter(
  { state, entries }: ReadableRecord,
  revision: number,
): readonly JournalEntry[] | undefined {
  const last = entries.at(-1);
  if (state.pass === undefined || last === undefined) return [];
  if (revision < state.pass.from || revision >= last.after) return [];
  const index = entries.findIndex((entry) => entry.before === revision);
  return index < 0 ? undefined : entries.slice(index);
}

/**
 * The revision that must exist. A killed process loses no write: an entry was written before its slot. After power loss only flushed ones
 * are certain, and those before an intact entry.
 */
export function requiredRevision({ state, last }: ReadableRecord, boot: string): number {
  const hasJournal = state.pass !== undefined;
  const bySlot = hasJournal && isSameBoot(state, boot) ? state.intended : state.durable;
  return Math.max(bySlot, last?.after ?? 0);
}

const isSameBoot = (state: RecordState, boot: string): boolean =>
  state.boot === boot && boot !== "";

function findHealed(state: RecordState, revision: number, boot: string): Revisions | undefined {
  const had = state.marks.at(-1)?.revision ?? 0;
  if (state.pass === undefined || !isSameBoot(state, boot) || revision >= had) return undefined;
  return { from: revision + 1, to: had };
}

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
      const what = verdict.isAcknowledged ? "acknowledged" : "written";
      const when = new Date(atMs).toISOString();
      return new AppError(
        "internal",
        `${file} is damaged: it, its log (busbar.db-wal) and its journal (busbar.record) lack ` +
          `${describeRevisions(from, to)}, the last of which was ${what} at ${when}; restore a backup, or see what is lost ` +
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
