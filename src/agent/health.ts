import { describeChain } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { Clock } from "../ports/clock.ts";
import type { RunReport } from "../ports/executor.ts";
import type { Logger } from "../ports/logger.ts";

export interface HealthOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Tries to start a process; throws when it cannot. Absent: this agent is never unhealthy. */
  readonly probe: (() => Promise<void>) | undefined;
  onChange(): void;
}

/**
 * Whether this agent can start processes.
 *
 *   healthy --a start failed because of the machine--> unhealthy --a probe succeeded--> healthy
 *
 * The first probe follows at once: many faults are over by then. Each failed probe, and each return
 * to unhealthy before a start has worked, doubles the wait for the next probe.
 */
export class Health {
  readonly #options: HealthOptions;
  #sickness: string | undefined = undefined;
  #failures = 0; // since a start last worked
  #cancel: (() => void) | undefined = undefined;
  #isClosed = false;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  /** Why no process can start; undefined: processes can start. */
  get sickness(): string | undefined {
    return this.#sickness;
  }

  /** Derives the machine's health from the report of a run. */
  heard(report: RunReport): void {
    if (report.kind === "running") this.#worked();
    else if (report.end.kind === "node-fault") this.#fault(report.end.message);
    else if (report.startedAtMs !== undefined) this.#worked();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #worked(): void {
    if (this.#sickness === undefined) this.#failures = 0;
  }

  #fault(reason: string): void {
    if (this.#sickness !== undefined || this.#options.probe === undefined) return;
    this.#options.logger.warn({ reason }, "this node cannot start processes");
    this.#set(reason);
    this.#probeLater();
  }

  #set(sickness: string | undefined): void {
    if (sickness === this.#sickness) return;
    this.#sickness = sickness;
    this.#options.onChange();
  }

  #probeLater(): void {
    const { probeDelayMsMin, probeDelayMsMax } = limits;
    const fullMs = probeDelayMsMin * 2 ** Math.min(this.#failures - 1, 20);
    const delayMs = this.#failures === 0 ? 0 : Math.min(probeDelayMsMax, fullMs);
    this.#failures += 1;
    this.#cancel = this.#options.clock.after(delayMs, () => void this.#probe());
  }

  async #probe(): Promise<void> {
    try {
      await this.#options.probe?.();
    } catch (error) {
      if (this.#isClosed) return;
      this.#set(describeChain(error));
      this.#probeLater();
      return;
    }
    if (this.#isClosed) return;
    this.#options.logger.info({ was: this.#sickness }, "this node can start processes again");
    this.#set(undefined);
  }
}
