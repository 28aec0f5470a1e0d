import { Readable } from "node:stream";

type Part = { readonly data: Uint8Array };
type Parts = AsyncIterable<Part>;

/**
 * Waits for the first part of an output (or of a backup), so that a rejection can still be answered as an error, but not for long: the
 * reader of a task that prints nothing must see that the request is served.
 */
export async function openOutput(
  parts: Parts,
  ended: AbortController,
  waitMs: number,
): Promise<Readable> {
  const iterator = parts[Symbol.asyncIterator]();
  const first = iterator.next();
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, waitMs);
  try {
    await Promise.race([first, late.promise]);
  } finally {
    clearTimeout(timer);
  }
  // The stream reports the error when it is read; until then nothing else handles it.
  first.catch(() => undefined);
  const stream = Readable.from(bytesOf(iterator, first, ended.signal), { objectMode: false });
  // Also needed when nothing was read: then the stream's own end would not reach the source.
  stream.once("close", () => {
    ended.abort();
    iterator.return?.().catch(() => undefined);
  });
  return stream;
}

async function* bytesOf(
  iterator: AsyncIterator<Part>,
  first: Promise<IteratorResult<Part>>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for (let next = await first; next.done !== true; next = await iterator.next()) {
    if (next.value.data.byteLength > 0) yield next.value.data;
  }
  // Cut off rather than ended: the reader must not mistake a part for the whole.
  signal.throwIfAborted();
}
