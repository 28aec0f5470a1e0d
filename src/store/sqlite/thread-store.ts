import { createReadStream } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import type { Worker } from "node:worker_threads";
import { AppError } from "../../lib/errors.ts";
import { unreachable } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Batch, Store, StoredRow } from "../../ports/store.ts";
import { StoreGate } from "../store-gate.ts";
import { backupFile } from "./data-directory.ts";
import { CommitLine } from "./commit-line.ts";
import { fromFailure, writeError } from "./failures.ts";
import { packBatch, type FromThread, type ToThread } from "./messages.ts";
import { JournalAppender } from "./record/journal-appender.ts";
import type { JournalTail } from "./record/journal-tail.ts";
import { recordFile } from "./record/record-file.ts";
import { RowStream } from "./row-stream.ts";

export interface ThreadStoreOptions {
  readonly name: string;
  readonly worker: Worker; // owned by the store: it ends with `close`, or when opening fails
  readonly logger: Logger;
  readonly directory: string; // of the data: the journal is there, and copies that backups are sent from
}

/** Resolves when the thread has opened its data; rejects with the reason when the thread refuses to. */
export async function openThreadStore(options: ThreadStoreOptions): Promise<Store> {
  const store = new ThreadStore(options);
  await store.opened();
  return store;
}

interface Waiting {
  readonly revision: number;
  readonly resolve: () => void;
  readonly reject: (error: AppError) => void;
}

/** The main thread's side of the store: commits batches, sends orders to its thread, settles batches in the order of the calls. */
class ThreadStore implements Store {
  readonly name: string;
  readonly #worker: Worker;
  readonly #logger: Logger;
  readonly #opening = Promise.withResolvers<void>();
  readonly #exited = Promise.withResolvers<void>();
  readonly #waiting: Waiting[] = []; // bounded by the gate
  #gate = new StoreGate(0);
  #line: CommitLine | undefined; // once the data is open
  #lastId = 0;
  #stream: RowStream | undefined;
  #isClosing = false;
  readonly #directory: string;
  #backups = 0;
  #copying: PromiseWithResolvers<void> | undefined;

  constructor({ name, worker, logger, directory }: ThreadStoreOptions) {
    this.#directory = directory;
    this.name = name;
    this.#worker = worker;
    this.#logger = logger;
    worker.on("message", (message: FromThread) => this.#receive(message));
    worker.on("error", (cause) => this.#fail(crashed(cause)));
    worker.once("exit", () => this.#exit());
  }

  opened(): Promise<void> {
    return this.#opening.promise;
  }

  revision(): number {
    return this.#gate.revision;
  }

  lastId(): number {
    return this.#lastId;
  }

  load(): AsyncIterable<readonly StoredRow[]> {
    this.#gate.beginLoad();
    const stream = new RowStream((chars) => this.#send({ kind: "more", chars }));
    this.#stream = stream;
    this.#send({ kind: "load" });
    return this.#read(stream);
  }

  commit(batch: Batch): Promise<void> {
    return new Promise((resolve, reject) => {
      const packed = packBatch(batch);
      this.#gate.admit(batch);
      this.#lastId = Math.max(this.#lastId, packed.lastId);
      this.#waiting.push({ revision: batch.revision, resolve, reject });
      this.#line?.add(packed);
    });
  }

  async *backup(): AsyncGenerator<Uint8Array> {
    if (this.#copying !== undefined) throw new AppError("exhausted", "a backup is under way");
    const file = backupFile(this.#directory, (this.#backups += 1));
    const copying = Promise.withResolvers<void>();
    this.#copying = copying;
    try {
      if (this.#gate.failure !== undefined) throw this.#gate.failure;
      // The main thread creates the file, so that no other user can read it.
      await writeFile(file, "", { mode: 0o600 });
      this.#line?.copy(file);
      await copying.promise;
      const highWaterMark = limits.backupChunkBytes;
      for await (const chunk of createReadStream(file, { highWaterMark })) yield chunk as Buffer;
    } finally {
      this.#copying = undefined;
      await rm(file, { force: true });
    }
  }

  close(): Promise<void> {
    this.#gate.shut();
    if (!this.#isClosing) this.#line?.close();
    this.#isClosing = true;
    return this.#exited.promise;
  }

  async *#read(stream: RowStream): AsyncGenerator<readonly StoredRow[]> {
    try {
      yield* stream.chunks();
    } finally {
      this.#send({ kind: "stop-load" }); // the reader may have stopped early
      this.#stream = undefined;
      this.#gate.endLoad();
    }
  }

  #send(message: ToThread): void {
    this.#worker.postMessage(message, []); // nothing to transfer: copying one string is cheaper
  }

  #receive(message: FromThread): void {
    switch (message.kind) {
      case "opened":
        return this.#open(message);
      case "refused":
        this.#gate.fail(fromFailure(message.failure)); // called when the thread has ended
        return;
      case "rows":
        return this.#stream?.push(message.rows);
      case "loaded":
        return this.#stream?.end();
      case "committed":
        this.#settle(message.revision);
        return this.#line?.returned(message.tail);
      case "rested":
        return this.#line?.returned(message.tail);
      case "failed":
        return this.#fail(fromFailure(message.failure));
      case "backed-up":
        this.#line?.copied();
        if (message.failure === undefined) return this.#copying?.resolve();
        return this.#copying?.reject(fromFailure(message.failure));
      case "warned":
        return this.#logger.warn({ cause: message.failure.cause }, message.failure.problem);
      default:
        unreachable(message);
    }
  }

  #open({ revision, lastId, tail }: FromThread & { readonly kind: "opened" }): void {
    this.#gate = new StoreGate(revision);
    this.#lastId = lastId;
    try {
      this.#line = this.#createLine(tail);
      this.#opening.resolve();
    } catch (cause) {
      this.#gate.fail(writeError(cause, recordFile(this.#directory)));
      this.#send({ kind: "close" }); // `opened` fails when the thread has ended
    }
  }

  #createLine(tail: JournalTail): CommitLine {
    return new CommitLine(new JournalAppender(this.#directory, tail), {
      send: (message) => this.#send(message),
      committed: (revision) => this.#settle(revision),
      failed: (cause) => this.#fail(writeError(cause, recordFile(this.#directory))),
    });
  }

  #settle(revision: number): void {
    const count = this.#waiting.findLastIndex((each) => each.revision <= revision) + 1;
    for (const each of this.#waiting.splice(0, count)) {
      this.#gate.settle(each.revision);
      each.resolve();
    }
  }

  #fail(error: AppError): void {
    const failure = this.#gate.fail(error);
    const rejectAll = (): void => {
      for (const { reject } of this.#waiting.splice(0)) reject(failure);
    };
    if (this.#line === undefined) rejectAll();
    else this.#line.fail(rejectAll);
    this.#stream?.fail(failure);
    this.#copying?.reject(failure);
  }

  #exit(): void {
    const failure = this.#gate.failure ?? crashed();
    this.#fail(failure); // after an orderly close no caller is waiting
    this.#opening.reject(failure);
    this.#exited.resolve();
  }
}

const crashed = (cause?: unknown): AppError =>
  new AppError("unavailable", "the store's thread ended; restart to recover", { cause });
