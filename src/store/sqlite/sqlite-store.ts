import { extname, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import type { Logger } from "../../ports/logger.ts";
import type { Store } from "../../ports/store.ts";
import type { ThreadData } from "./messages.ts";
import { openThreadStore } from "./thread-store.ts";

// The worker file is next to this one, as source or compiled.
const workerFile = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);

export interface SqliteStoreOptions {
  readonly directory: string; // created when missing; holds busbar.db, its log and the holder's pid
  readonly logger: Logger;
}

/**
 * Keeps rows in one SQLite file. A separate thread does the work, so that the caller decides the next batch while the last one is being
 * flushed.
 */
export function createSqliteStore({ directory, logger }: SqliteStoreOptions): Promise<Store> {
  const workerData: ThreadData = { directory: resolve(directory) };
  const worker = new Worker(workerFile, { name: "store", workerData });
  return openThreadStore({ worker, name: "sqlite", logger, directory: resolve(directory) });
}
