import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import { Alarm } from "../../alarm.ts";
import { Outage } from "../../lower/retry-delays.ts";
import { forEachOf, isMissing, isPassing, type SiteApi } from "./site-api.ts";
import type { SiteRun } from "./site-run.ts";

export interface CancellerOptions {
  readonly api: Pick<SiteApi, "cancelJob">;
  readonly site: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  onMissing(run: SiteRun): void;
}

/** Cancels jobs below until the site has acknowledged each. The watch reports their ends. */
export class Canceller {
  readonly #options: CancellerOptions;
  readonly #outage: Outage;
  readonly #alarm: Alarm;
  readonly #waiting = new Set<SiteRun>();
  #isBusy = false;

  constructor(options: CancellerOptions) {
    this.#options = options;
    this.#outage = new Outage(
      "the Busbar below does not answer requests to cancel jobs",
      options.logger,
    );
    this.#alarm = new Alarm(options.clock, () => void this.#work());
  }

  add(run: SiteRun): void {
    this.#waiting.add(run);
    this.#schedule();
  }

  close(): void {
    this.#waiting.clear();
    this.#alarm.stop();
  }

  #schedule(): void {
    if (this.#waiting.size === 0 || this.#isBusy) return;
    this.#alarm.wakeBy(Math.max(this.#options.clock.nowMs(), this.#outage.retryAtMs));
  }

  async #work(): Promise<void> {
    const { clock, signal, logger } = this.#options;
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      await forEachOf([...this.#waiting], (run) => this.#cancel(run));
      this.#outage.succeeded();
    } catch (error) {
      if (signal.aborted) return;
      if (!isPassing(error)) logger.error({ error }, "a job below could not be cancelled");
      this.#outage.failed(error, clock.nowMs());
    } finally {
      this.#isBusy = false;
      this.#schedule();
    }
  }

  async #cancel(run: SiteRun): Promise<void> {
    const { api, site, signal } = this.#options;
    const { taskId } = run.terms;
    if (taskId !== undefined && run.ended === undefined) {
      try {
        const reason = `stopped by the Busbar above (${site}, task ${run.id.jobId}.${run.id.index})`;
        await api.cancelJob({ id: taskId, reason }, { signal });
      } catch (error) {
        if (!isMissing(error)) throw error;
        this.#options.onMissing(run);
      }
    }
    this.#waiting.delete(run);
  }
}
