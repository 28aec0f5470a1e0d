import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { limits } from "../../../src/limits.ts";
import type { Batch, Store } from "../../../src/ports/store.ts";
import type { Database } from "../../../src/store/sqlite/database.ts";
import { packBatch } from "../../../src/store/sqlite/messages.ts";
import { JournalAppender } from "../../../src/store/sqlite/record/journal-appender.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { createSqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import type { StoreData } from "./store-data.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";

/** The rows that a child writes with each revision; see store-child.ts. */
export const ROWS_PER_BATCH = 20;

export const openSqlite = (directory: string): Promise<Store> =>
  createSqliteStore({ directory, logger: silentLogger });

export async function createSqliteData(): Promise<StoreData> {
  const parent = await mkdtemp(join(tmpdir(), "busbar-store-"));
  return {
    open: () => openSqlite(join(parent, "data")),
    remove: () => rm(parent, { recursive: true }),
  };
}

/** Runs with a new directory, in which `data` does not exist yet, and removes it afterwards. */
export async function withDirectory(run: (data: string) => Promise<void>): Promise<void> {
  const parent = await mkdtemp(join(tmpdir(), "busbar-store-"));
  try {
    await run(join(parent, "data"));
  } finally {
    await rm(parent, { recursive: true });
  }
}

/** Opens, runs, closes. */
export async function withSqlite<T>(
  directory: string,
  run: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openSqlite(directory);
  try {
    return await run(store);
  } finally {
    await store.close();
  }
}

/**
 * Works on a database without a thread, and leaves a copy of its files at `data` as kill -9 would: what was written is there, whether flushed
 * or not.
 */
export async function leaveBehind(
  data: string,
  work: (database: Database, directory: string) => void | Promise<void>,
): Promise<void> {
  const live = `${data}-live`;
  const database = openDatabase(live);
  try {
    await work(database, live);
    await cp(live, data, { recursive: true });
  } finally {
    database.close();
    await rm(live, { recursive: true });
  }
}

/** Small commits as the main thread makes them, while the store's thread does other work. The journal is lent afterwards. */
export async function appendAll(
  directory: string,
  database: Database,
  batches: readonly Batch[],
): Promise<void> {
  const journal = new JournalAppender(directory, database.lend());
  for (const batch of batches.map(packBatch)) {
    const bytes = journal.bytesFor([batch]);
    if (bytes === undefined) throw new Error("the journal is full");
    await new Promise<void>((resolve, reject) => {
      journal.append([batch], bytes, (error) => (error === undefined ? resolve() : reject(error)));
    });
    database.journaled([batch]);
  }
  journal.close();
}

export const commit = (database: Database, batch: Batch): void =>
  database.commit([packBatch(batch)]);

/** Longer than an entry of the journal may be: its commit goes to the database at once. */
export const tooLong = (value: string): string =>
  value.padEnd(limits.storeJournalEntryBytesMax, "x");

/** A separate process that opens the store and follows its role; see store-child.ts. */
export class StoreChild {
  readonly #process: ChildProcessByStdio<null, Readable, Readable>;
  readonly #ended: Promise<unknown[]>;
  readonly lines: string[] = [];
  #errors = "";
  #wake = Promise.withResolvers<void>();

  constructor(role: "hold" | "commit" | "finish", directory: string) {
    const file = fileURLToPath(new URL("./store-child.ts", import.meta.url));
    this.#process = spawn(process.execPath, [file, role, directory], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#ended = once(this.#process, "close");
    this.#process.stderr.on("data", (chunk) => (this.#errors += String(chunk)));
    createInterface(this.#process.stdout).on("line", (line) => {
      this.lines.push(line);
      this.#wake.resolve();
    });
    void this.#ended.then(() => this.#wake.resolve());
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Waits until so many lines were printed. */
  async printed(count: number): Promise<void> {
    while (this.lines.length < count) {
      await this.#wake.promise;
      if (this.#process.exitCode !== null || this.#process.signalCode !== null)
        throw new Error(`the child ended: ${this.#errors}`);
      this.#wake = Promise.withResolvers();
    }
  }

  /** Resolves when the process has ended and all its output was read. */
  async ended(): Promise<number | null> {
    await this.#ended;
    return this.#process.exitCode;
  }

  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#ended;
  }
}
