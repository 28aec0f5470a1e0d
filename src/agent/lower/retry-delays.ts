import { describeChain } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Logger } from "../../ports/logger.ts";

/** How long until the jobs are looked at again: soon while something changes, rarely while nothing does. */
export function pollDelayMs(quietMs: number): number {
  return Math.min(limits.lowerPollMsMax, Math.max(limits.lowerPollMsMin, quietMs / 8));
}

/** Something that fails for now: tried again, ever more rarely, and told once. */
export class Outage {
  readonly #what: string;
  readonly #logger: Logger;
  #failures = 0;
  #retryAtMs = 0;

  /** `what` describes the outage for the log: "slurm cannot be asked". */
  constructor(what: string, logger: Logger) {
    this.#what = what;
    this.#logger = logger;
  }

  /** When to try again; 0: nothing is the matter. */
  get retryAtMs(): number {
    return this.#retryAtMs;
  }

  isOver(nowMs: number): boolean {
    return nowMs >= this.#retryAtMs;
  }

  failed(error: unknown, nowMs: number): void {
    if (this.#failures === 0) {
      this.#logger.warn(
        { error: describeChain(error) },
        `${this.#what}; trying until that changes`,
      );
    }
    const { lowerRetryMsMin, lowerRetryMsMax } = limits;
    this.#retryAtMs =
      nowMs + Math.min(lowerRetryMsMax, lowerRetryMsMin * 2 ** Math.min(this.#failures, 20));
    this.#failures += 1;
  }

  succeeded(): void {
    if (this.#failures > 0) this.#logger.info({}, `no longer: ${this.#what}`);
    this.#failures = 0;
    this.#retryAtMs = 0;
  }
}
