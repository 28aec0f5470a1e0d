import { Worker } from "node:worker_threads";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ThreadAnswer } from "./messages.ts";
import type { DocumentTask } from "./read-document.ts";

interface ReaderThreadOptions {
  readonly file: URL;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly memoryMb: number;
}

interface Waiting {
  readonly task: DocumentTask;
  readonly bytes: number;
  readonly resolve: (answer: ThreadAnswer) => void;
  readonly reject: (error: AppError) => void;
}

/** A body that has its memory to itself is handed over; nobody here reads it again. */
function transferOf(task: DocumentTask): ArrayBuffer[] {
  if (task.kind !== "registration") return [];
  const { buffer, byteLength } = task.body;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

/**
 * One thread that reads one document after the other, started when there is one. A document that
 * takes too long or too much memory ends the thread, and its caller is told; the next document gets
 * another thread. Guards that answers go to whom they belong.
 */
export class ReaderThread {
  readonly #options: ReaderThreadOptions;
  readonly #queue: Waiting[] = [];
  #bytes = 0;
  #worker: Worker | undefined;
  #current: Waiting | undefined;
  #cancelTimeout: () => void = () => undefined;
  #isClosed = false;

  constructor(options: ReaderThreadOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#queue.length + (this.#current === undefined ? 0 : 1);
  }

  read(task: DocumentTask, bytes: number): Promise<ThreadAnswer> {
    return new Promise((resolve, reject) => {
      this.checkRoom(bytes); // what is thrown here rejects
      this.#bytes += bytes;
      this.#queue.push({ task, bytes, resolve, reject });
      this.#next();
    });
  }

  /** Throws when a document of so many bytes would have to wait and cannot. */
  checkRoom(bytes: number): void {
    if (this.#isClosed) throw new AppError("unavailable", "the server stops");
    const isFull =
      this.waiting >= limits.documentsWaitingMax ||
      this.#bytes + bytes > limits.documentBytesWaitingMax;
    if (!isFull || this.waiting === 0) return;
    const text = `${this.waiting} large documents wait to be read already; try again later`;
    throw new AppError("exhausted", text);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const left = this.#queue.splice(0);
    this.#end(new AppError("unavailable", "the server stops"));
    for (const { reject } of left) reject(new AppError("unavailable", "the server stops"));
    await this.#worker?.terminate();
  }

  #next(): void {
    if (this.#current !== undefined) return;
    const next = this.#queue.shift();
    if (next === undefined) return;
    this.#current = next;
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage(next.task, transferOf(next.task));
    this.#watch(next);
  }

  #watch(one: Waiting): void {
    const { clock, timeoutMs } = this.#options;
    this.#cancelTimeout = clock.after(timeoutMs, () => {
      if (this.#current !== one) return;
      this.#stop(`the document took more than ${timeoutMs} ms to read; send less at once`);
    });
  }

  #start(): Worker {
    const worker = new Worker(this.#options.file, {
      name: "reader",
      resourceLimits: { maxOldGenerationSizeMb: this.#options.memoryMb },
    });
    worker.on("message", (answer: ThreadAnswer) => {
      if (this.#worker !== worker) return;
      worker.unref(); // while nobody waits it keeps nothing alive
      this.#settle((one) => one.resolve(answer));
    });
    worker.on("error", () => {
      if (this.#worker !== worker) return;
      this.#stop(
        `the document took more than ${this.#options.memoryMb} MB to read; send less at once`,
      );
    });
    return worker;
  }

  /** Ends the thread in the middle of a document. */
  #stop(message: string): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
    this.#end(new AppError("exhausted", message));
  }

  #end(error: AppError): void {
    this.#settle((one) => one.reject(error));
  }

  #settle(tell: (one: Waiting) => void): void {
    const one = this.#current;
    this.#cancelTimeout();
    this.#current = undefined;
    if (one !== undefined) {
      this.#bytes -= one.bytes;
      tell(one);
    }
    if (!this.#isClosed) this.#next();
  }
}
