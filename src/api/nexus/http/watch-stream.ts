import type { ServerResponse } from "node:http";
import type { AppError } from "../../../lib/errors.ts";
import { GzipStream } from "../../../lib/bytes/gzip-pieces.ts";
import { boundSendBuffer } from "../../../lib/bytes/send-buffer.ts";
import { limits } from "../../../limits.ts";
import { gzipEvents } from "../../../server/watch/gzip-format.ts";
import type { OpenWatch, WatchSink } from "../../../server/watch/watch-format.ts";
import { toFailure, toStatus } from "../documents/status.ts";
import { writeWhenRoom } from "./exchange.ts";

/** The answer to one watch: a line for each event, and at last, if it failed, the reason. */
export class WatchStream implements WatchSink {
  readonly #response: ServerResponse;
  readonly #gzip: GzipStream | undefined;
  readonly #untaken = new Set<() => void>();
  readonly #timers: NodeJS.Timeout[] = [];
  #watch: OpenWatch | undefined;
  #isEnded = false;

  /** `isGzip`: it sends pieces of a gzip stream. */
  constructor(response: ServerResponse, isGzip: boolean) {
    this.#response = response;
    this.#gzip = isGzip ? new GzipStream() : undefined;
    response.once("close", () => this.#closed());
  }

  get isOver(): boolean {
    return this.#isEnded || this.#response.destroyed;
  }

  /** Sends the headers. `timeoutMs`: when it ends by itself; undefined: never. */
  start(type: string, timeoutMs: number | undefined): void {
    const response = this.#response;
    if (response.destroyed || response.socket === null) return this.#closed();
    boundSendBuffer(response.socket, limits.watchSendBufferBytes);
    // Without chunked encoding, so that all readers get the same bytes; the connection ends with the watch.
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, {
      "content-type": type,
      "cache-control": "no-cache, private",
      vary: "accept-encoding",
      ...(this.#gzip === undefined ? {} : { "content-encoding": "gzip" }),
      connection: "close",
    });
    response.flushHeaders();
    if (this.#gzip !== undefined) response.write(this.#gzip.head);
    this.every(limits.sseHeartbeatIntervalMs, () => void this.#watch?.beat());
    if (timeoutMs !== undefined) this.#timers.push(setTimeout(() => this.#finish(), timeoutMs));
  }

  /** From now on it sends the events of this watch. */
  attach(watch: OpenWatch): void {
    this.#watch = watch;
    if (this.isOver) watch.close();
  }

  every(ms: number, run: () => void): void {
    if (!this.isOver) this.#timers.push(setInterval(run, ms));
  }

  /** Lines for this watch alone. Resolves when its reader can receive more; throws when it has disconnected. */
  async write(lines: Buffer): Promise<void> {
    if (this.isOver || lines.length === 0) return;
    const part = this.#gzip === undefined ? lines : gzipEvents(lines);
    this.#gzip?.add(part);
    await writeWhenRoom(this.#response, part);
  }

  send(parts: readonly Buffer[], taken: () => void): void {
    const response = this.#response;
    const full = parts.filter(({ length }) => length > 0);
    const last = full.at(-1);
    if (this.isOver || last === undefined) return taken();
    const left = (): void => {
      if (this.#untaken.delete(left)) taken();
    };
    this.#untaken.add(left);
    if (this.#gzip !== undefined) for (const part of full) this.#gzip.add(part);
    if (full.length > 1) response.cork();
    for (const part of full.slice(0, -1)) response.write(part);
    response.write(last, left);
    if (full.length > 1) response.uncork();
  }

  /** Clients that receive 410 list again and continue. */
  end(error: AppError): void {
    if (this.isOver) return;
    const isTooSlow = error.code === "exhausted";
    // A reader that was too slow resumes from the last revision that it saw, as after a lost connection.
    const last = isTooSlow ? undefined : toStatus(toFailure(error));
    this.#finish(last && `${JSON.stringify({ type: "ERROR", object: last })}\n`);
  }

  cut(): void {
    this.#response.destroy();
  }

  #finish(line = ""): void {
    if (this.isOver) return;
    this.#over();
    const last = Buffer.from(line);
    this.#response.end(this.#gzip === undefined ? last : this.#gzip.end(last));
    this.#timers.push(setTimeout(() => this.cut(), limits.drainMsMax).unref());
  }

  #over(): void {
    this.#isEnded = true;
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
    this.#watch?.close();
  }

  #closed(): void {
    this.#over();
    for (const left of this.#untaken) left();
  }
}
