import { AppError } from "../../../lib/errors.ts";
import type { WatchEvent, WatchRequest } from "../../../gen/busbar/v1/busbar_pb.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import { Outage } from "../../lower/retry-delays.ts";
import type { SiteApi } from "./site-api.ts";

export interface SiteWatchOptions {
  readonly api: Pick<SiteApi, "watch">;
  readonly what: Partial<Pick<WatchRequest, "group" | "tasks" | "nodes">>;
  readonly clock: Clock;
  readonly logger: Logger;
  onEvent(event: WatchEvent): void;
  /**
   * Events follow from now on; the caller must look up earlier changes. Called when the watch begins, and when the Busbar below no longer
   * has the events since the last connection.
   */
  onBeginning(): void;
}

/**
 * Receives all events from below, through any number of lost links and restarts. It resumes from the revision
 * before the last one that it received: events of one revision may have come in part, and listeners accept
 * the same event twice.
 */
export async function watchSite(options: SiteWatchOptions, signal: AbortSignal): Promise<void> {
  const { api, what, clock, logger } = options;
  const outage = new Outage("the watch of the Busbar below is interrupted", logger);
  let after: bigint | undefined;
  while (!signal.aborted) {
    try {
      const request = { ...what, ...(after === undefined ? {} : { afterRevision: after }) };
      for await (const event of api.watch(request, { signal })) {
        outage.succeeded();
        const { case: kind } = event.event;
        if (kind === "sync" && after === undefined) options.onBeginning();
        if (kind === "sync" || kind === "bookmark") after = event.revision;
        else {
          after = event.revision > 1n ? event.revision - 1n : event.revision;
          options.onEvent(event);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (after !== undefined && isForgotten(error)) after = undefined;
      else outage.failed(error, clock.nowMs());
    }
    const delayMs = Math.max(limits.reconnectDelayMsMin, outage.retryAtMs - clock.nowMs());
    await pause(clock, delayMs, signal);
  }
}

/** The revision is older than the retained ones, or newer than the newest: another store, or a restored one. */
const isForgotten = (error: unknown): boolean =>
  error instanceof AppError && (error.code === "compacted" || error.code === "invalid_argument");

export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      cancel();
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const cancel = clock.after(delayMs, wake);
    signal.addEventListener("abort", wake, { once: true });
  });
}
