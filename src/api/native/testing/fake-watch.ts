import { AppError } from "../../../lib/errors.ts";
import type { Operations, WatchQuery } from "../../../server/operations/operations.ts";
import type { WatchEventView } from "../../../server/views/views.ts";
import { aJob } from "./view-builders.ts";

type Events = (query: WatchQuery, signal: AbortSignal) => AsyncIterable<WatchEventView>;

/**
 * A watch whose events come from a generator, which is pulled again when the network has accepted the last event. When the generator ends,
 * so does the watch: with an error, like all watches.
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
    const end = (error: AppError): void => {
      stop.abort();
      sink.end(new AppError(error.code, error.message, { revision: 77 }));
    };
    return { close: () => stop.abort(), end, beat: () => false };
  };

/** A watch that sends much at once and ends, even if its reader does not read. */
export const endingWatch =
  (error: AppError, isCut: boolean): Operations["watch"] =>
  (_, { format, sink }) => {
    const job = aJob({ reason: "x".repeat(64 * 1_024) });
    setImmediate(() => {
      for (let revision = 1; revision <= 20; revision++) {
        sink.send([format.render({ kind: "job", revision, job })], () => undefined);
      }
      sink.end(error);
      if (isCut) sink.cut();
    });
    return { close: () => undefined, end: () => undefined, beat: () => false };
  };
