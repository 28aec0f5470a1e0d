import { getHeapStatistics } from "node:v8";
import { receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import { AppError } from "../../lib/errors.ts";
import { unreachable } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import type { Database } from "./database.ts";
import { readError, toFailure, writeError } from "./failures.ts";
import type { FromThread, PackedBatch, PackedRows, ToThread } from "./messages.ts";

/**
 * Serves one database on one port, in the order of the messages. Batches that wait together are
 * committed together. The first failure is reported and ends everything but `close`, because what
 * reached the disk is no longer known.
 */
export class StoreThread {
  readonly #port: MessagePort;
  readonly #database: Database;
  readonly #idle: NodeJS.Timeout;
  readonly #resting: NodeJS.Timeout;
  #heapAtRest = 0;
  #isBroken = false;
  #sealed: Promise<void> = Promise.resolve(); // when all that is committed is also recorded
  #copied: Promise<void> = Promise.resolve();
  #group: PackedBatch[] = [];
  #groupRows = 0;
  #rows: Generator<PackedRows> | undefined;
  #chunksAllowed = 0;

  constructor(port: MessagePort, database: Database) {
    this.#port = port;
    this.#database = database;
    this.#idle = setTimeout(() => this.#moveLog(limits.storeWalIdleBytes), limits.storeIdleMs);
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

  /** Takes everything that waits, not only what woke us: that is what makes groups. */
  #receive(first: ToThread): void {
    let message: ToThread | undefined = first;
    while (message !== undefined) {
      this.#handle(message);
      const next: { message: ToThread } | undefined = receiveMessageOnPort(this.#port);
      message = next?.message;
    }
    this.#commitGroup();
    if (this.#isBroken) return; // it would bring back a timer that was cleared
    this.#idle.refresh();
    this.#resting.refresh();
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
        void Promise.all([this.#sealed, this.#copied]).then(() => this.#close()); // none fails
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
    const batches = this.#group;
    this.#group = [];
    this.#groupRows = 0;
    this.#attempt(writeError, () => {
      const sealed = this.#database.commit(batches);
      const revision = this.#database.revision();
      this.#sealed = Promise.all([this.#sealed, sealed]).then(
        () => this.#tellCommitted(revision),
        (error: unknown) => this.#fail(error, writeError),
      );
    });
  }

  /** Notifies callers first: reading the length of the log takes as long as writing some rows. */
  #tellCommitted(revision: number): void {
    if (this.#isBroken) return;
    this.#send({ kind: "committed", revision });
    this.#moveLog(limits.storeWalBytesMax);
  }

  /** While no caller waits if that comes soon enough, and in any case before the log grows too long. */
  #moveLog(limitBytes: number): void {
    this.#attempt(writeError, () => {
      if (this.#database.logBytes() >= limitBytes) this.#database.checkpoint();
    });
  }

  /** What a start or many commits left in this thread's heap and in SQLite's cache. */
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
    this.#isBroken = true; // nothing may be asked for any more
    try {
      this.#database.close();
    } catch (error) {
      // Acknowledged commits are in the log, which the next start reads.
      this.#warn(writeError(error, this.#database.file));
    }
    this.#port.close(); // with it the thread ends
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
