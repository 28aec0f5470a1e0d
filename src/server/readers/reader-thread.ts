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

/** A caller that has yet to send a document of so many bytes. */
interface RoomWaiter {
  readonly bytes: number;
  readonly resolve: () => void;
}

/** A body with its own memory is transferred to the thread; this thread does not read it again. */
function transferOf(task: DocumentTask): ArrayBuffer[] {
  if (!("body" in task)) return [];
  const { buffer, byteLength } = task.body;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

/**
 * One thread that reads one document after another; the first document starts it. A document that takes too long or too much memory ends
 * the thread, and its caller receives an error; the next document has a new thread. Short documents overtake long ones: every other turn
 * goes to the shortest, the turns between to the oldest. Ensures that each answer goes to its own caller.
 */
export class ReaderThread {
  readonly #options: ReaderThreadOptions;
  readonly #queue: Waiting[] = [];
  readonly #roomWaiters: RoomWaiter[] = [];
  #isShortTurn = false;
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
      this.#checkRoom(bytes); // an error thrown here rejects the promise
      this.#bytes += bytes;
      this.#queue.push({ task, bytes, resolve, reject });
      this.#next();
    });
  }

  /** Resolves when a document of so many bytes has a place; rejects when it has had none for a while. */
  async room(bytes: number): Promise<void> {
    if (this.#hasRoom(bytes) || this.#roomWaiters.length >= limits.roomWaitersMax) {
      this.#checkRoom(bytes);
      return;
    }
    await new Promise<void>((resolve) => {
      const waiter = { bytes, resolve: () => (cancel(), resolve()) };
      const cancel = this.#options.clock.after(limits.roomWaitMsMax, () => {
        this.#roomWaiters.splice(this.#roomWaiters.indexOf(waiter), 1);
        resolve();
      });
      this.#roomWaiters.push(waiter);
    });
    this.#checkRoom(bytes);
  }

  #hasRoom(bytes: number): boolean {
    const { waiting } = this;
    if (waiting === 0) return true;
    const isLarge = bytes > limits.mediumDocumentBytesMax;
    return (
      waiting < (isLarge ? limits.largeDocumentsWaitingMax : limits.documentsWaitingMax) &&
      this.#bytes + bytes <= limits.documentBytesWaitingMax
    );
  }

  #checkRoom(bytes: number): void {
    if (this.#isClosed) throw new AppError("unavailable", "the server stops");
    if (this.#hasRoom(bytes)) return;
    const text = `${this.waiting} large documents are queued to be read; try again later`;
    throw new AppError("exhausted", text);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const left = this.#queue.splice(0);
    this.#end(new AppError("unavailable", "the server stops"));
    for (const { reject } of left) reject(new AppError("unavailable", "the server stops"));
    for (const { resolve } of this.#roomWaiters.splice(0)) resolve();
    await this.#worker?.terminate();
  }

  #next(): void {
    if (this.#current !== undefined) return;
    const [next] = this.#queue.splice(this.#pick(), 1);
    if (next === undefined) return;
    this.#current = next;
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage(next.task, transferOf(next.task));
    this.#watch(next);
  }

  #pick(): number {
    this.#isShortTurn = !this.#isShortTurn;
    if (!this.#isShortTurn) return 0;
    let shortest = 0;
    for (let at = 1; at < this.#queue.length; at++) {
      if ((this.#queue[at]?.bytes ?? 0) < (this.#queue[shortest]?.bytes ?? 0)) shortest = at;
    }
    return shortest;
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
      worker.unref(); // an idle thread does not keep the process alive
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

  /** Ends the thread while it reads a document. */
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
    if (this.#isClosed) return;
    this.#next();
    this.#admit();
  }

  /** Admits one caller for each document that has been read; admitted callers have yet to send theirs. */
  #admit(): void {
    const at = this.#roomWaiters.findIndex(({ bytes }) => this.#hasRoom(bytes));
    if (at >= 0) this.#roomWaiters.splice(at, 1)[0]?.resolve();
  }
}
