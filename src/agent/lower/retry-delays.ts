import { describeChain } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Logger } from "../../ports/logger.ts";

/** The time until the next poll of the jobs: short while something changes, long while nothing does. */
export function pollDelayMs(quietMs: number): number {
  return Math.min(limits.lowerPollMsMax, Math.max(limits.lowerPollMsMin, quietMs / 8));
}

/** A call that fails for now: retried ever more rarely, and logged once. */
export class Outage {
  readonly #what: string;
  readonly #logger: Logger;
  #failures = 0;
  #retryAtMs = 0;

  /** `what` describes the outage for the log: "slurm does not answer". */
  constructor(what: string, logger: Logger) {
    this.#what = what;
    this.#logger = logger;
  }

  /** When to try again; 0: there is no outage. */
  get retryAtMs(): number {
    return this.#retryAtMs;
  }

  isOver(nowMs: number): boolean {
    return nowMs >= this.#retryAtMs;
  }

  failed(error: unknown, nowMs: number): void {
    if (this.#failures === 0) {
      this.#logger.warn({ error: describeChain(error) }, `${this.#what}; trying again`);
    }
    const { lowerRetryMsMin, lowerRetryMsMax } = limits;
    this.#retryAtMs =
      nowMs + Math.min(lowerRetryMsMax, lowerRetryMsMin * 2 ** Math.min(this.#failures, 20));
    this.#failures += 1;
  }

  succeeded(): void {
    if (this.#failures > 0) this.#logger.info({}, `this outage has ended: ${this.#what}`);
    this.#failures = 0;
    this.#retryAtMs = 0;
  }
}
