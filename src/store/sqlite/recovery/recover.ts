import { existsSync, linkSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { LastIssued, Recovery } from "../../../core/model/recovery.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { isBusy, readError } from "../failures.ts";
import { findOut, held } from "../open-database.ts";
import {
  bootId,
  lastIssued,
  readRecord,
  writeNewRecord,
  type ReadRecord,
} from "../record/record-file.ts";
import { checkRecord, entriesAfter, refusal, requiredRevision } from "./check-record.ts";
import { checksumFirstPage } from "./first-page.ts";
import type { Totals } from "../meta.ts";
import type { JournalEntry } from "../record/journal-entry.ts";
import { rebuildDatabase, type Rebuilt } from "./rebuild.ts";
import { salvageRows } from "./salvage.ts";

export interface RecoverOptions {
  readonly directory: string;
  readonly acceptsLoss: boolean;
}

interface Candidate {
  readonly source: Recovery["source"];
  readonly url: URL | string;
}

/** Reports which rows are intact and which are lost; with `acceptsLoss` it continues with the intact ones. */
export function recoverData({ directory, acceptsLoss }: RecoverOptions): Recovery {
  const file = join(directory, "busbar.db");
  if (!existsSync(file)) {
    throw new AppError("not_found", `there is no database in ${directory}; restore a backup`);
  }
  const record = readRecord(directory);
  try {
    const wrong = findWrong(directory, file, record);
    const best = chooseSource(file);
    const db = open(best);
    try {
      return work(db, { directory, file, acceptsLoss, record, wrong, source: best.source });
    } finally {
      db.close();
    }
  } catch (error) {
    if (isBusy(error)) throw held(directory, error);
    throw readError(error, file);
  }
}

const open = ({ url }: Candidate): DatabaseSync =>
  new DatabaseSync(url, { readOnly: true, timeout: 0 });

function findWrong(directory: string, file: string, record: ReadRecord): string | undefined {
  let db: DatabaseSync | undefined;
  try {
    db = open({ source: "database and log", url: file });
    db.prepare("SELECT count(*) FROM sqlite_schema").get();
    const found = findOut(db, file, checksumFirstPage(file));
    return refusal(checkRecord(record, found, bootId()), directory, file)?.message;
  } catch (error) {
    if (isBusy(error)) throw error;
    return readError(error, file).message;
  } finally {
    db?.close();
  }
}

/** With a damaged log the database alone may be newer: its log may have been moved into it. */
function chooseSource(file: string): Candidate {
  const alone = pathToFileURL(file);
  alone.searchParams.set("immutable", "1"); // as without a log
  const candidates: Candidate[] = [{ source: "database and log", url: file }];
  if (existsSync(`${file}-wal`)) candidates.push({ source: "database alone", url: alone });
  const scored = candidates.map((candidate) => ({ candidate, ...score(candidate) }));
  scored.sort((a, b) => a.problems - b.problems || b.revision - a.revision || b.rows - a.rows);
  const [best] = scored;
  if (best === undefined || best.rows < 0) {
    throw new AppError("internal", `nothing of ${file} can be read: restore a backup`);
  }
  return best.candidate;
}

function score(candidate: Candidate) {
  let db: DatabaseSync | undefined;
  try {
    db = open(candidate);
    const { totals, problems } = salvageRows(db, () => undefined);
    return { problems: problems.length, revision: totals.revision, rows: totals.rows };
  } catch (error) {
    if (isBusy(error)) throw error;
    return { problems: Number.MAX_SAFE_INTEGER, revision: -1, rows: -1 };
  } finally {
    db?.close();
  }
}

interface Work extends RecoverOptions {
  readonly file: string;
  readonly record: ReadRecord;
  readonly wrong: string | undefined;
  readonly source: Recovery["source"];
}

function work(db: DatabaseSync, options: Work): Recovery {
  const { directory, acceptsLoss, record } = options;
  // Inspection changes nothing here, not even for a moment.
  const place = acceptsLoss ? directory : mkdtempSync(join(tmpdir(), "busbar-recover-"));
  const aside = join(place, `busbar.db-new-${process.pid}`);
  const rebuilt = rebuildDatabase(db, aside, {
    continueWith: (revision) => journalAfter(record, revision),
    beyond: (found, knownId) => beyond(record, found, knownId),
  });
  try {
    const wrong = options.wrong ?? rebuilt.problems[0];
    const keptIn = acceptsLoss && wrong !== undefined ? put(directory, aside, rebuilt) : undefined;
    return report({ ...options, wrong }, rebuilt, keptIn);
  } finally {
    rmSync(acceptsLoss ? aside : place, { recursive: true, force: true });
  }
}

/** The intact commits of the journal that continue from this revision. */
function journalAfter(record: ReadRecord, revision: number): readonly JournalEntry[] {
  return record.kind === "read" ? (entriesAfter(record, revision) ?? []) : [];
}

/** Without a record, the last id and revision that clients saw are unknown: skips far ahead. */
export function beyond(record: ReadRecord, found: Totals, knownId: number): LastIssued {
  if (record.kind !== "read") {
    return {
      revision: found.revision + limits.unknownRevisionsMax,
      lastId: knownId + limits.unknownJobsMax,
    };
  }
  const last = lastIssued(record);
  return {
    revision: Math.max(found.revision, last.revision) + 1,
    lastId: Math.max(knownId, last.lastId),
  };
}

/** The order matters: when it stops after any step, the next start refuses the data. */
function put(directory: string, aside: string, { record }: Rebuilt): string {
  const kept = join(directory, `damaged-${new Date().toISOString().replaceAll(":", "-")}`);
  mkdirSync(kept, { mode: 0o700 });
  const names = ["busbar.db", "busbar.db-wal", "busbar.record"];
  for (const name of names) {
    if (existsSync(join(directory, name))) linkSync(join(directory, name), join(kept, name));
  }
  for (const end of ["-wal", "-shm"]) rmSync(join(directory, `busbar.db${end}`), { force: true });
  renameSync(aside, join(directory, "busbar.db"));
  writeNewRecord(directory, record);
  return kept;
}

function report(options: Work, rebuilt: Rebuilt, keptIn: string | undefined): Recovery {
  const { directory, record, wrong, source } = options;
  const { totals, problems, damagedRows, orphans, knownId } = rebuilt;
  const to = record.kind === "read" ? requiredRevision(record, bootId()) : 0;
  const ids = record.kind === "read" ? lastIssued(record).lastId : 0;
  const { durable: revision, lastId } = rebuilt.record;
  return {
    directory,
    wrong,
    problems,
    source,
    revision: totals.revision,
    rows: rebuilt.rows,
    lostRevisions: to > totals.revision ? { from: totals.revision + 1, to } : undefined,
    lostJobs: ids > knownId ? { from: knownId + 1, to: ids } : undefined,
    damagedRows,
    orphanTasks: orphans,
    keptIn,
    goesOnAfter: { revision, lastId },
  };
}
