import { AppError } from "../../../lib/errors.ts";
import type { Operations, WatchQuery } from "../../../server/operations.ts";
import type { WatchEventView } from "../../../server/views.ts";

type Events = (query: WatchQuery, signal: AbortSignal) => AsyncIterable<WatchEventView>;

/**
 * A watch whose events come from a generator, which is pulled again when the network has the last
 * event. When the generator ends, so does the watch: with an error, as all do.
 */
export const fakeWatch =
  (events: Events): Operations["watch"] =>
  (query, { format, sink }) => {
    const stop = new AbortController();
    const run = async (): Promise<void> => {
      for await (const event of events(query, stop.signal)) {
        if (stop.signal.aborted) return;
        await new Promise<void>((taken) => sink.send([format.render(event)], taken));
        if (stop.signal.aborted) return;
      }
      if (!stop.signal.aborted) throw new AppError("exhausted", "no more events");
    };
    setImmediate(() => {
      run().catch((error: unknown) => sink.end(AppError.from(error, "watch")));
    });
    return { close: () => stop.abort(), beat: () => false };
  };
