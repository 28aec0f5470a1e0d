import { AppError } from "../../lib/errors.ts";
import type { Session } from "../session.ts";
import type { LiveList } from "./live-list.ts";

/** At least so long passes between two reads of a list, */
const REST_MS_MIN = 500;
/** and so many times the duration of the last read: a watcher costs a large server at most a twentieth. */
const REST_FACTOR = 20;

/** Reads a list again on request or when it is due. `run` ends when the signal fires. */
export function createListReader<Row>(
  { context }: Session,
  live: Pick<LiveList<Row>, "list" | "refreshMs">,
  signal: AbortSignal,
  take: (rows: readonly Row[]) => Promise<void>,
) {
  let wanted = new AbortController();
  return {
    want: (): void => wanted.abort(),
    async run(): Promise<void> {
      let tookMs = 0;
      while (!signal.aborted) {
        await context.sleep(Math.max(REST_MS_MIN, tookMs * REST_FACTOR), signal);
        const either = AbortSignal.any([signal, wanted.signal]);
        if (live.refreshMs === undefined) await fired(either);
        else await context.sleep(live.refreshMs, either);
        if (signal.aborted) return;
        wanted = new AbortController();
        const startedAtMs = context.nowMs();
        const listed = await unlessAway(live.list());
        tookMs = context.nowMs() - startedAtMs;
        if (listed !== undefined && !signal.aborted) await take(listed.rows);
      }
    },
  };
}

const fired = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** The watch reports a server that is away, and requests the list once it is back. */
async function unlessAway<T>(listing: Promise<T>): Promise<T | undefined> {
  try {
    return await listing;
  } catch (error) {
    const code = error instanceof AppError ? error.code : undefined;
    if (code === "unavailable" || code === "exhausted") return undefined;
    throw error;
  }
}
