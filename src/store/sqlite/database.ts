import { closeSync, fdatasyncSync, openSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { copyDatabase } from "./recovery/backup.ts";
import { removeHolder } from "./holder.ts";
import { JournaledWriter } from "./journaled-writer.ts";
import type { PackedBatch, PackedRows } from "./messages.ts";
import type { DurableRecord } from "./record/durable-record.ts";
import type { JournalTail } from "./record/journal-tail.ts";
import { readRows } from "./row-reader.ts";
import type { RowWriter } from "./row-writer.ts";

/** The log (WAL), in bytes. */
export interface LogState {
  /** To move into the database by a checkpoint. */
  readonly bytes: number;
  /** Its greatest length so far: its file is that long. */
  readonly longestBytes: number;
}

/** The open database, used by one thread only. Every method except `backup` is synchronous. */
export interface Database {
  readonly file: string;
  /** Reports a problem that a person should know, though it stops nothing. */
  readonly warning: string | undefined;
  revision(): number;
  lastId(): number;
  readRows(): Generator<PackedRows>;
  /** When it returns, the batches are durable. Their rows may wait for `apply`. */
  commit(batches: readonly PackedBatch[]): void;
  /** Lets another thread append to the journal, from this place on, until `takeBack`. Allowed meanwhile: all that needs no journal. */
  lend(): JournalTail;
  takeBack(tail: JournalTail): void;
  /** The other thread has made these batches durable. */
  journaled(batches: readonly PackedBatch[]): void;
  pendingRows(): number;
  apply(): void;
  /** No commit comes for now. */
  rest(): void;
  /** Makes the database itself durable, without the journal. */
  settle(): void;
  /** Whether it is, as far as this thread knows. */
  isSettled(): boolean;
  /** Copies the whole database into a new file while commits continue. */
  backup(file: string): Promise<void>;
  log(): LogState;
  checkpoint(): void;
  /** Frees cached pages. */
  shrink(): void;
  close(): void;
}

interface Parts {
  readonly directory: string;
  readonly file: string;
  readonly rows: RowWriter;
  readonly record: DurableRecord;
  readonly warning: string | undefined;
}

export function createDatabase(db: DatabaseSync, parts: Parts): Database {
  const { directory, file, rows, record, warning } = parts;
  const pageBytes = readNumber(db, "page_size");
  let longestPages = 0;
  // The writer flushes the log with fdatasync, and not for every commit. SQLite's fsync would also flush its times.
  db.exec("PRAGMA synchronous = NORMAL");
  const logFile = openSync(`${file}-wal`, "r+");
  const logState = db.prepare("PRAGMA wal_checkpoint(NOOP)"); // only reports
  const writer = new JournaledWriter(rows, record, () => fdatasyncSync(logFile));
  return {
    file,
    warning,
    revision: () => writer.revision,
    lastId: () => writer.lastId,
    *readRows() {
      writer.apply();
      yield* readRows(db, file, rows.totals);
    },
    commit: (batches) => writer.commit(batches),
    lend: () => writer.lend(),
    takeBack: (tail) => writer.takeBack(tail),
    journaled: (batches) => writer.journaled(batches),
    pendingRows: () => writer.pendingRows,
    apply: () => writer.apply(),
    rest: () => writer.rest(),
    settle: () => writer.settle(),
    isSettled: () => writer.isSettled,
    backup: (target) => writer.whileApplied(() => copyDatabase(db, target)),
    log() {
      const { log, checkpointed } = logState.get() ?? {};
      const [length, moved] = [Number(log), Number(checkpointed)];
      longestPages = Math.max(longestPages, length);
      return { bytes: (length - moved) * pageBytes, longestBytes: longestPages * pageBytes };
    },
    checkpoint() {
      writer.settle();
      db.exec("PRAGMA wal_checkpoint(PASSIVE)");
    },
    shrink: () => db.exec("PRAGMA shrink_memory"),
    close() {
      try {
        writer.close();
      } finally {
        closeSync(logFile);
        removeHolder(directory);
        db.close(); // closing the last connection also moves the log into the database
      }
    },
  };
}

export function readNumber(db: DatabaseSync, pragma: string): number {
  return Number(db.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
}
