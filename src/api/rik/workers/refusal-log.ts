import { RecentMap } from "../../../lib/collections/recent-map.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";

/** Warns of refused workers. A riklet exits then, and its unit starts it again every 3 s: the same reason is not logged again for some minutes. */
export class RefusalLog {
  readonly #parts: { readonly clock: Clock; readonly logger: Logger };
  readonly #loggedMs = new RecentMap<string, number>(limits.rikRefusalsMax);

  constructor(parts: { readonly clock: Clock; readonly logger: Logger }) {
    this.#parts = parts;
  }

  refused(hostname: string, address: string, error: unknown): void {
    const { clock, logger } = this.#parts;
    const worker = hostname.slice(0, limits.rikHostNameLengthMax); // not checked yet
    const { message: reason } = AppError.from(error, "register");
    const key = JSON.stringify([worker, reason]);
    const loggedMs = this.#loggedMs.get(key) ?? -Infinity;
    if (clock.nowMs() - loggedMs < limits.rikRefusalLogMs) return;
    this.#loggedMs.set(key, clock.nowMs());
    logger.warn({ worker, address, reason }, "worker refused");
  }
}
