import type { ServerResponse } from "node:http";
import type { AppError } from "../../../lib/errors.ts";
import { GzipStream } from "../../../lib/bytes/gzip-pieces.ts";
import { boundSendBuffer } from "../../../lib/bytes/send-buffer.ts";
import { limits } from "../../../limits.ts";
import { gzipEvents, gzipFormat } from "../../../server/watch/gzip-format.ts";
import type { OpenWatch, WatchFormat, WatchSink } from "../../../server/watch/watch-format.ts";
import type { WatchEventView } from "../../../server/views/views.ts";
import { toHttpError } from "../status.ts";

/** The JSON of a WatchEvent: its kind is the name of its only field. */
export function eventJson(event: WatchEventView): object {
  const { kind, revision, ...rest } = event;
  if (event.kind === "removed") {
    const { what, id, by } = event;
    return { revision, removed: { kind: what, id, by } };
  }
  return { revision, ...(kind === "sync" || kind === "bookmark" ? { [kind]: {} } : rest) };
}

/** Events as a `text/event-stream`. */
export const WATCH_SSE: WatchFormat = {
  name: "sse",
  render: (event) =>
    Buffer.from(
      `id: ${event.revision}\nevent: ${event.kind}\ndata: ${JSON.stringify(eventJson(event))}\n\n`,
    ),
};

/** The same as pieces of a gzip stream, for readers that ask for it. */
export const WATCH_SSE_GZIP = gzipFormat(WATCH_SSE);

const SIGN_OF_LIFE = Buffer.from(":\n\n");
const SIGN_OF_LIFE_GZIP = gzipEvents(SIGN_OF_LIFE);

/** The parts of a stream of events. */
export interface SseWire {
  readonly format: WatchFormat;
  /** Its format has pieces of a gzip stream. */
  readonly isGzip: boolean;
  /** The last event. */
  formatEnd(error: AppError): Buffer;
}

/** Events of /v1/watch. */
export const watchWire = (isGzip: boolean): SseWire => ({
  format: isGzip ? WATCH_SSE_GZIP : WATCH_SSE,
  isGzip,
  formatEnd,
});

/** The answer to one watch: events as they are pushed in `format`, then the reason of the end. */
export class SseStream implements WatchSink {
  readonly #wire: SseWire;
  readonly #response: ServerResponse;
  readonly #gzip: GzipStream | undefined;
  /** Called when its part has left, or the reader has disconnected. */
  readonly #untaken = new Set<() => void>();
  #watch: OpenWatch | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #late: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(response: ServerResponse, wire: SseWire) {
    this.#wire = wire;
    this.#response = response;
    this.#gzip = wire.isGzip ? new GzipStream() : undefined;
    response.once("close", () => this.#closed());
  }

  /** Sends the headers. A comment now and then keeps proxies from treating a quiet link as dead. */
  start(watch: OpenWatch, heartbeatMs: number): void {
    const response = this.#response;
    this.#watch = watch;
    if (response.destroyed || response.socket === null) return this.#closed();
    boundSendBuffer(response.socket, limits.watchSendBufferBytes);
    // Without chunked encoding, so that all readers get the same bytes; the connection ends with the watch.
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      vary: "accept-encoding",
      ...(this.#gzip === undefined ? {} : { "content-encoding": "gzip" }),
      connection: "close",
    });
    response.flushHeaders();
    if (this.#gzip !== undefined) response.write(this.#gzip.head);
    this.#heartbeat = setInterval(() => {
      if (!watch.beat() && response.writableLength === 0) this.#showLife();
    }, heartbeatMs);
  }

  #showLife(): void {
    this.#gzip?.add(SIGN_OF_LIFE_GZIP);
    this.#response.write(this.#gzip === undefined ? SIGN_OF_LIFE : SIGN_OF_LIFE_GZIP);
  }

  send(parts: readonly Buffer[], taken: () => void): void {
    const response = this.#response;
    const last = parts.at(-1);
    if (this.#isEnded || response.destroyed || last === undefined) return taken();
    const left = (): void => {
      if (this.#untaken.delete(left)) taken();
    };
    this.#untaken.add(left);
    if (this.#gzip !== undefined) for (const part of parts) this.#gzip.add(part);
    if (parts.length > 1) response.cork();
    for (const part of parts.slice(0, -1)) response.write(part);
    response.write(last, left);
    if (parts.length > 1) response.uncork();
  }

  end(error: AppError): void {
    const response = this.#response;
    if (this.#isEnded || response.destroyed) return;
    this.#over();
    const last = this.#wire.formatEnd(error);
    response.end(this.#gzip === undefined ? last : this.#gzip.end(last));
    this.#late = setTimeout(() => this.cut(), limits.drainMsMax).unref();
  }

  cut(): void {
    this.#response.destroy();
  }

  #over(): void {
    this.#isEnded = true;
    clearInterval(this.#heartbeat);
    this.#watch?.close();
  }

  #closed(): void {
    this.#over();
    clearTimeout(this.#late);
    for (const left of this.#untaken) left();
  }
}

/** Not called "error": browsers use that name for a lost connection. */
function formatEnd(error: AppError): Buffer {
  const id = error.revision === undefined ? "" : `id: ${error.revision}\n`;
  return Buffer.from(`${id}event: closed\ndata: ${JSON.stringify(toHttpError(error))}\n\n`);
}
