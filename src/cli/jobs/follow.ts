import type { WatchEvent } from "../../client/messages.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Session } from "../session.ts";

/** How long a server may be away, or without a free watch, before the command gives up. */
const PATIENCE_MS = 120_000;

/** The longest pause between two requests while no watch is available. */
const ASK_MS_MAX = 2_000;

export interface Following {
  readonly jobId?: string;
  readonly group?: string;
  readonly jobs?: boolean;
  readonly tasks?: boolean;
  readonly nodes?: boolean;
  readonly clusters?: boolean;
  readonly groups?: boolean;
  readonly services?: boolean;
  readonly afterRevision: bigint;
}

/** An event of a watch, or the advice to poll the server because no watch is available. */
export type Followed = Pick<WatchEvent, "revision" | "event"> | { readonly event: { case: "ask" } };

const ASK: Followed = { event: { case: "ask" } };

/**
 * Changes after a revision, across lost connections and restarts of the server. Whenever it starts
 * over it yields a "sync" event: a reader that must not miss anything reads the current state then.
 * While the server has no free watch it yields "ask" now and then, for the same purpose.
 */
export async function* followEvents(
  session: Session,
  { afterRevision, ...what }: Following,
  { signal, canAsk = true }: { readonly signal: AbortSignal; readonly canAsk?: boolean },
): AsyncGenerator<Followed, void, undefined> {
  const client = await session.client();
  let after = afterRevision; // 0: from now on
  let delayMs: number = limits.reconnectDelayMsMin;
  let lostAtMs: number | undefined;
  for (;;) {
    let isOpen = false;
    try {
      for await (const event of client.watch(
        { ...what, afterRevision: after === 0n ? undefined : after },
        { signal },
      )) {
        isOpen = true;
        lostAtMs = undefined;
        delayMs = limits.reconnectDelayMsMin;
        after = event.revision;
        yield event;
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof AppError)) throw error;
      const { code, revision } = error;
      if (revision !== undefined) after = BigInt(revision);
      if (code === "compacted") {
        after = 0n; // The sync event makes the reader read the current state.
      } else if (code === "exhausted") {
        // A dropped watch is resumed; a rejected one may be available later.
        if (!isOpen && canAsk) yield ASK;
        else if (!isOpen) lostAtMs = await noteLoss(session, lostAtMs, error, "no watch is free");
      } else if (code === "unavailable") {
        lostAtMs = await noteLoss(session, lostAtMs, error, "lost the connection");
      } else {
        throw error;
      }
    }
    signal.throwIfAborted();
    await session.context.sleep(delayMs, signal);
    const delayMsMax = lostAtMs === undefined ? ASK_MS_MAX : limits.reconnectDelayMsMax;
    delayMs = Math.min(delayMs * 2, delayMsMax);
  }
}

/** Prints once that the server cannot be followed; throws when that has lasted too long. */
async function noteLoss(
  session: Session,
  lostAtMs: number | undefined,
  error: AppError,
  what: string,
): Promise<number> {
  const nowMs = session.context.nowMs();
  if (lostAtMs === undefined) await session.note(`${what}; trying again`);
  else if (nowMs - lostAtMs > PATIENCE_MS) throw error;
  return lostAtMs ?? nowMs;
}
