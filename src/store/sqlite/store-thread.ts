import { getHeapStatistics } from "node:v8";
import { receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import { AppError } from "../../lib/errors.ts";
import { unreachable } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import type { Database } from "./database.ts";
import { readError, toFailure, writeError } from "./failures.ts";
import {
  charsOf,
  type FromThread,
  type Lent,
  type PackedBatch,
  type PackedRows,
  rowsOf,
  type ToThread,
} from "./messages.ts";

/**
 * Serves one database over one port, in the order of the messages. The main thread appends to the journal, except while it waits for the answer to
 * `commit` or `rest`. Reports the first failure and then accepts only `close`, because the state on disk is no longer known.
 */
export class StoreThread {
  readonly #port: MessagePort;
  readonly #database: Database;
  readonly #resting: NodeJS.Timeout;
  #heapAtRest = 0;
  #isBroken = false;
  #copied: Promise<void> = Promise.resolve();
  #rows: Generator<PackedRows> | undefined;
  #charsAllowed = 0;

  constructor(port: MessagePort, database: Database) {
    this.#port = port;
    this.#database = database;
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
      tail: this.#database.lend(),
    });
  }

  /** Takes all waiting messages, not only the one that woke the thread: rows of several are applied together. */
  #receive(first: ToThread): void {
    this.#handle(first);
    let next: { message: ToThread } | undefined;
    while ((next = receiveMessageOnPort(this.#port)) !== undefined) this.#handle(next.message);
    this.#apply(1);
    if (!this.#isBroken) this.#resting.refresh(); // it would restart a timer that was cleared
  }

  #handle(message: ToThread): void {
    switch (message.kind) {
      case "load":
        this.#rows = this.#database.readRows();
        this.#charsAllowed = limits.storeReadAheadChars;
        return this.#sendChunks();
      case "more":
        this.#charsAllowed += message.chars;
        return this.#sendChunks();
      case "stop-load":
        this.#rows = undefined;
        return;
      case "apply":
        this.#database.journaled(message.journaled);
        return this.#apply(limits.storeApplyRowsMax);
      case "commit":
        return this.#commit(message.batches, message);
      case "rest":
        return this.#rest(message);
      case "backup":
        this.#copied = this.#backUp(message.file);
        return;
      case "close":
        void this.#copied.then(() => this.#close(message)); // it never fails
        return;
      default:
        unreachable(message);
    }
  }

  /** Writes rows of the journal to the database, many at once: most of the work is that of a transaction. */
  #apply(rowsMin: number): void {
    this.#attempt(writeError, () => {
      if (this.#database.pendingRows() >= rowsMin) this.#database.apply();
    });
  }

  #commit(batches: readonly PackedBatch[], lent: Lent): void {
    this.#attempt(writeError, () => {
      this.#takeBack(lent);
      this.#database.commit(batches);
      const revision = this.#database.revision();
      this.#send({ kind: "committed", revision, tail: this.#database.lend() });
      this.#moveLog(batches.reduce((rows, batch) => rows + rowsOf(batch), 0));
    });
  }

  /** No commit came for a while. */
  #rest(lent: Lent): void {
    this.#attempt(writeError, () => {
      this.#takeBack(lent);
      this.#database.rest();
      const isLong = this.#database.log().bytes >= limits.storeWalIdleBytes;
      if (isLong) this.#database.settle();
      this.#send({ kind: "rested", tail: this.#database.lend() });
      if (isLong) this.#database.checkpoint();
    });
  }

  #takeBack({ journaled, tail }: Lent): void {
    this.#database.journaled(journaled);
    this.#database.takeBack(tail);
  }

  /**
   * Moves the log into the database before it grows too long. Commits of few rows move it before its file grows: flushing a longer file
   * takes the disk twice as long as flushing pages written over. Only of a settled database: others need the journal, which is lent, and
   * a full journal settles it.
   */
  #moveLog(rows: number): void {
    if (!this.#database.isSettled()) return;
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
      while (this.#rows !== undefined && this.#charsAllowed > 0) {
        const next = this.#rows.next();
        if (next.done === true) {
          this.#rows = undefined;
          this.#send({ kind: "loaded" });
        } else {
          this.#charsAllowed -= charsOf(next.value);
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

  #close({ journaled, tail }: Partial<Lent>): void {
    clearTimeout(this.#resting);
    this.#attempt(writeError, () => {
      if (journaled !== undefined && tail !== undefined) this.#takeBack({ journaled, tail });
    });
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
