import { parentPort, workerData } from "node:worker_threads";
import { AppError } from "../../lib/errors.ts";
import { invariant } from "../../lib/invariant.ts";
import type { Database } from "./database.ts";
import { toFailure } from "./failures.ts";
import type { FromThread, ThreadData } from "./messages.ts";
import { openDatabase } from "./open-database.ts";
import { StoreThread } from "./store-thread.ts";

// The entry point of the store's thread: SQLite blocks while it flushes, and here it blocks no other work.

invariant(parentPort !== null, "this file runs as a worker thread");
const { directory } = workerData as ThreadData;

let database: Database | undefined;
try {
  database = openDatabase(directory);
} catch (error) {
  const failure = toFailure(AppError.from(error, "open the store"));
  parentPort.postMessage({ kind: "refused", failure } satisfies FromThread, []);
}
// Without a database no work is left, and the thread ends.
if (database !== undefined) new StoreThread(parentPort, database).start();
