import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";

/**
 * Warns of refused workers. A riklet exits then, and its unit starts it again every 3 s: in each ten minutes the same reason is logged once,
 * and no more reasons than a log can bear, because callers without a token choose their host names.
 */
export class RefusalLog {
  readonly #parts: { readonly clock: Clock; readonly logger: Logger };
  readonly #logged = new Set<string>();
  #sinceMs = -Infinity;

  constructor(parts: { readonly clock: Clock; readonly logger: Logger }) {
    this.#parts = parts;
  }

  refused(hostname: string, address: string, error: unknown): void {
    const { clock, logger } = this.#parts;
    const nowMs = clock.nowMs();
    if (nowMs - this.#sinceMs >= limits.rikRefusalLogMs) {
      this.#logged.clear();
      this.#sinceMs = nowMs;
    }
    const worker = hostname.slice(0, limits.rikHostNameLengthMax); // not checked yet
    const { message: reason } = AppError.from(error, "register");
    const key = JSON.stringify([worker, reason]);
    if (this.#logged.has(key) || this.#logged.size >= limits.rikRefusalsMax) return;
    this.#logged.add(key);
    logger.warn({ worker, address, reason }, "worker refused");
  }
}
