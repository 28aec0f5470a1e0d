import { getHeapStatistics } from "node:v8";
import { receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import { AppError } from "../../lib/errors.ts";
import { unreachable } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import type { Database } from "./database.ts";
import { readError, toFailure, writeError } from "./failures.ts";
import type { FromThread, PackedBatch, PackedRows, ToThread } from "./messages.ts";

/**
 * Serves one database over one port, in the order of the messages. Commits waiting batches together. Reports the first failure and then
 * accepts only `close`, because the state on disk is no longer known.
 */
export class StoreThread {
  readonly #port: MessagePort;
  readonly #database: Database;
  readonly #idle: NodeJS.Timeout;
  readonly #resting: NodeJS.Timeout;
  #heapAtRest = 0;
  #isBroken = false;
  #copied: Promise<void> = Promise.resolve();
  #group: PackedBatch[] = [];
  #groupRows = 0;
  #rows: Generator<PackedRows> | undefined;
  #chunksAllowed = 0;

  constructor(port: MessagePort, database: Database) {
    this.#port = port;
    this.#database = database;
    this.#idle = setTimeout(() => this.#rest(), limits.storeIdleMs);
    this.#resting = setTimeout(() => this.#giveBack(), limits.storeRestMs);
  }

  start(): void {
    this.#port.on("message", (message: ToThread) => this.#receive(message));
    const { warning } = this.#database;
    if (warning !== undefined) this.#warn(new AppError("internal", warning));
    this.#send({
      kind: "opened",
      revision: this.#database.revision(),
      lastId: this.#database.lastId(),
    });
  }

  #receive(first: ToThread): void {
    this.#handle(first);
    this.#work();
  }

  /** Commits first, and applies rows in pauses. Between two commits the thread looks after timers and copies. */
  #work(): void {
    this.#takeWaiting();
    this.#commitGroup();
    this.#takeWaiting(); // came during the commit
    const isBusy = this.#group.length > 0;
    if (isBusy) setImmediate(() => this.#work());
    this.#applyRows(isBusy ? limits.storeApplyRowsMax : limits.storeApplyRows);
    if (this.#isBroken) return; // it would restart a timer that was cleared
    this.#idle.refresh();
    this.#resting.refresh();
  }

  /** Takes all waiting messages, not only the one that woke the thread: this forms the groups. */
  #takeWaiting(): void {
    let next: { message: ToThread } | undefined;
    while ((next = receiveMessageOnPort(this.#port)) !== undefined) this.#handle(next.message);
  }

  #handle(message: ToThread): void {
    if (message.kind !== "commit") this.#commitGroup();
    switch (message.kind) {
      case "commit":
        return this.#add(message.batch);
      case "load":
        this.#rows = this.#database.readRows();
        this.#chunksAllowed = limits.storeChunksInFlightMax;
        return this.#sendChunks();
      case "more":
        this.#chunksAllowed += 1;
        return this.#sendChunks();
      case "stop-load":
        this.#rows = undefined;
        return;
      case "backup":
        this.#copied = this.#backUp(message.file);
        return;
      case "close":
        void this.#copied.then(() => this.#close()); // it never fails
        return;
      default:
        unreachable(message);
    }
  }

  #add(batch: PackedBatch): void {
    this.#group.push(batch);
    for (const { lengths } of batch.parts) this.#groupRows += lengths.length / 2;
    if (this.#groupRows >= limits.storeGroupRowsMax) this.#commitGroup();
  }

  #commitGroup(): void {
    if (this.#group.length === 0) return;
    const [batches, rows] = [this.#group, this.#groupRows];
    this.#group = [];
    this.#groupRows = 0;
    this.#attempt(writeError, () => {
      this.#database.commit(batches);
      this.#send({ kind: "committed", revision: this.#database.revision() });
      // Reading the length of the log takes as long as writing some rows: later, and only when it grew.
      if (this.#database.pendingRows() === 0) this.#moveLog(rows);
    });
  }

  /** Writes rows of the journal to the database, many at once: most of the work is that of a transaction. */
  #applyRows(limit: number): void {
    this.#attempt(writeError, () => {
      const rows = this.#database.pendingRows();
      if (rows < limit) return;
      this.#database.apply();
      this.#moveLog(0);
    });
  }

  /** No message came for a while. */
  #rest(): void {
    this.#attempt(writeError, () => {
      this.#database.rest();
      if (this.#database.log().bytes >= limits.storeWalIdleBytes) this.#database.checkpoint();
    });
  }

  /**
   * Moves the log into the database before it grows too long. Commits of few rows move it before its file grows: flushing a longer file
   * takes the disk twice as long as flushing pages written over.
   */
  #moveLog(rows: number): void {
    const { storeFewRowsMax, storeWalIdleBytes, storeWalBytesMax } = limits;
    const { bytes, longestBytes } = this.#database.log();
    const soon = Math.min(Math.max(storeWalIdleBytes, longestBytes), storeWalBytesMax);
    if (bytes >= (rows > storeFewRowsMax ? storeWalBytesMax : soon)) this.#database.checkpoint();
  }

  /** Frees memory that a start or many commits left in this thread's heap and in SQLite's cache. */
  #giveBack(): void {
    const { gc } = globalThis;
    if (getHeapStatistics().total_heap_size - this.#heapAtRest < limits.storeGarbageBytes) return;
    this.#attempt(readError, () => this.#database.shrink());
    gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
    this.#heapAtRest = getHeapStatistics().total_heap_size;
  }

  #sendChunks(): void {
    this.#attempt(readError, () => {
      while (this.#rows !== undefined && this.#chunksAllowed > 0) {
        const next = this.#rows.next();
        if (next.done === true) {
          this.#rows = undefined;
          this.#send({ kind: "loaded" });
        } else {
          this.#chunksAllowed -= 1;
          this.#send({ kind: "rows", rows: next.value });
        }
      }
    });
  }

  /** A failed copy does not affect the store. */
  async #backUp(file: string): Promise<void> {
    this.#attempt(writeError, () => this.#database.apply());
    try {
      await this.#database.backup(file);
      this.#send({ kind: "backed-up", failure: undefined });
    } catch (error) {
      this.#send({ kind: "backed-up", failure: toFailure(writeError(error, file)) });
    }
  }

  #close(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#resting);
    this.#isBroken = true; // no further message is allowed
    try {
      this.#database.close();
    } catch (error) {
      // Acknowledged commits are in the log, which the next start reads.
      this.#warn(writeError(error, this.#database.file));
    }
    this.#port.close(); // the thread ends with its port
  }

  #attempt(toError: typeof writeError, work: () => void): void {
    if (this.#isBroken) return;
    try {
      work();
    } catch (error) {
      this.#fail(error, toError);
    }
  }

  #fail(error: unknown, toError: typeof writeError): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#send({ kind: "failed", failure: toFailure(toError(error, this.#database.file)) });
  }

  #warn(about: AppError): void {
    this.#send({ kind: "warned", failure: toFailure(about) });
  }

  #send(message: FromThread): void {
    this.#port.postMessage(message, []);
  }
}
