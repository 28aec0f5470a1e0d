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
   * From here on events come; what happened before must be looked up. Called when it begins, and when the
   * Busbar below no longer has what happened while nobody listened.
   */
  onBeginning(): void;
}

/**
 * Hears all that happens below, through any number of lost links and restarts. It resumes from the revision
 * before the last one of which it heard something: events of one revision may have come in part, and
 * whoever listens takes the same news twice.
 */
export async function watchSite(options: SiteWatchOptions, signal: AbortSignal): Promise<void> {
  const { api, what, clock, logger } = options;
  const outage = new Outage("the Busbar below cannot be watched", logger);
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

/** The revision is older than what is kept, or newer than what there is: another store, or a restored one. */
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
