import type { AppError } from "../lib/errors.ts";
import type { Operations, WatchQuery } from "../server/operations/operations.ts";
import type { WatchEventView } from "../server/views/views.ts";
import type { WatchFormat } from "../server/watch/watch-format.ts";

/** Events as lines of JSON. */
export const JSON_LINES: WatchFormat = {
  name: "json",
  render: (event) => Buffer.from(`${JSON.stringify(event)}\n`),
};

export const parseLines = (parts: readonly Buffer[]): WatchEventView[] =>
  Buffer.concat(parts)
    .toString()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as WatchEventView);

/** Reads a watch in this process, one event per call. */
export async function* readWatch(
  { watch }: Pick<Operations, "watch">,
  query: WatchQuery,
  signal: AbortSignal,
): AsyncGenerator<WatchEventView> {
  const sent: { readonly events: WatchEventView[]; readonly taken: () => void }[] = [];
  let news = Promise.withResolvers<void>();
  let error: AppError | undefined;
  const tell = (): void => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const open = watch(query, {
    format: JSON_LINES,
    caller: { connection: signal, address: undefined },
    sink: {
      send(parts, taken) {
        sent.push({ events: parseLines(parts), taken });
        tell();
      },
      end(reason) {
        error = reason;
        tell();
      },
      cut: () => undefined,
    },
  });
  signal.addEventListener("abort", tell);
  try {
    while (!signal.aborted) {
      const next = sent.shift();
      if (next !== undefined) {
        yield* next.events;
        next.taken();
      } else if (error !== undefined) throw error;
      else await news.promise;
    }
  } finally {
    signal.removeEventListener("abort", tell);
    open.close();
    for (const { taken } of sent) taken();
  }
}
