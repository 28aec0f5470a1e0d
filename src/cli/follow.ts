import type { WatchEvent } from "../client/messages.ts";
import { AppError } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { Session } from "./session.ts";

/** How long a server may be away before whoever waits on it is told. */
const PATIENCE_MS = 120_000;

export interface Following {
  readonly jobId?: string;
  readonly group?: string;
  readonly jobs?: boolean;
  readonly tasks?: boolean;
  readonly nodes?: boolean;
  readonly afterRevision: bigint;
}

/**
 * Changes after a revision, across lost connections and restarts of the server. Whenever it starts
 * anew it yields a "sync" event: a reader who must not miss anything reads the present state then.
 */
export async function* followEvents(
  session: Session,
  { afterRevision, ...what }: Following,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent, void, undefined> {
  const client = await session.client();
  let after = afterRevision;
  let delayMs: number = limits.reconnectDelayMsMin;
  let lostAtMs: number | undefined;
  for (;;) {
    try {
      for await (const event of client.watch({ ...what, afterRevision: after }, { signal })) {
        lostAtMs = undefined;
        delayMs = limits.reconnectDelayMsMin;
        if (event.revision > after) after = event.revision;
        yield event;
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof AppError)) throw error;
      if (error.code === "compacted") {
        after = 0n; // From now on; the sync event makes the reader look at what it missed.
      } else if (error.code === "unavailable") {
        const nowMs = session.context.nowMs();
        if (lostAtMs === undefined) await session.note("lost the connection; trying again");
        lostAtMs ??= nowMs;
        if (nowMs - lostAtMs > PATIENCE_MS) throw error;
      } else {
        throw error;
      }
    }
    signal.throwIfAborted();
    await session.context.sleep(delayMs, signal);
    delayMs = Math.min(delayMs * 2, limits.reconnectDelayMsMax);
  }
}
