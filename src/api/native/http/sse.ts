import { Readable } from "node:stream";
import { AppError } from "../../../lib/errors.ts";
import type { WatchEventView } from "../../../server/views.ts";
import { toHttpError } from "../status.ts";
import { eventId } from "./translate.ts";

const WAITING_BYTES_MAX = 64 * 1024;

/**
 * Events as a `text/event-stream`. Nothing is pulled while the reader does not read, beyond a
 * small buffer; a comment now and then keeps proxies from taking a quiet link for a dead one.
 * `ended` is aborted when the reader is gone; when someone else aborts it, the stream ends.
 */
export function sseStream(
  events: AsyncIterator<WatchEventView>,
  ended: AbortController,
  options: { readonly first: WatchEventView; readonly heartbeatMs: number },
): Readable {
  let isPulling = false;
  const pull = async (): Promise<void> => {
    try {
      const next = await events.next();
      isPulling = false;
      if (next.done !== true) stream.push(formatEvent(next.value));
      else finish(ended.signal.reason);
    } catch (error) {
      finish(ended.signal.aborted ? ended.signal.reason : error);
    }
  };
  const finish = (reason: unknown): void => {
    if (reason !== undefined && !stream.destroyed) stream.push(formatEnd(reason));
    stream.push(null);
  };
  const stream = new Readable({
    highWaterMark: WAITING_BYTES_MAX,
    read() {
      if (isPulling) return;
      isPulling = true;
      void pull();
    },
    destroy(error, done) {
      stop();
      done(error);
    },
  });
  const stop = (): void => {
    clearInterval(heartbeat);
    ended.abort();
    // Not waited for: a source that is asleep may take its time to notice.
    events.return?.().catch(() => undefined);
  };
  const heartbeat = setInterval(() => {
    if (stream.readableLength === 0) stream.push(":\n\n");
  }, options.heartbeatMs);
  stream.push(formatEvent(options.first));
  return stream;
}

const formatEvent = (event: WatchEventView): string =>
  `id: ${eventId(event)}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`;

/** Not called "error": in browsers that is what a lost connection is called. */
const formatEnd = (reason: unknown): string =>
  `event: closed\ndata: ${JSON.stringify(toHttpError(AppError.from(reason, "internal error")))}\n\n`;
