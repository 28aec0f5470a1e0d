import { describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Explanation } from "../../../gen/busbar/v1/busbar_pb.ts";
import type { Logger } from "../../../ports/logger.ts";
import { Alarm } from "../../alarm.ts";
import { Outage } from "../../lower/retry-delays.ts";
import { forEachOf, isMissing, type SiteApi } from "./site-api.ts";
import type { SiteRun } from "./site-run.ts";

export interface RunLooksOptions {
  readonly api: Pick<SiteApi, "explainJob">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  active(): Iterable<SiteRun>;
  /** Reads the state of the run's task; throws not_found when the Busbar below does not know it. */
  look(run: SiteRun, taskId: string): Promise<void>;
  onMissing(run: SiteRun): void;
}

/**
 * Looks up tasks below: all of them when the watch begins, and now and then the queued ones, for their reason, or because they were
 * cancelled there before they began, which is no event of a task. It looks up a run that is merely silent only rarely: its Busbar may have
 * been restored to an earlier state.
 */
export class RunLooks {
  readonly #options: RunLooksOptions;
  readonly #outage: Outage;
  readonly #alarm: Alarm;
  #isAllDue = false;
  #isBusy = false;

  constructor(options: RunLooksOptions) {
    this.#options = options;
    this.#outage = new Outage(
      "the Busbar below does not answer requests about its tasks",
      options.logger,
    );
    this.#alarm = new Alarm(options.clock, () => void this.#work());
  }

  /** The state of each run must be looked up. */
  lookAtAll(): void {
    this.#isAllDue = true;
    this.#alarm.wakeBy(this.#options.clock.nowMs());
  }

  /** A run is queued below, and the agent has not looked at it yet. */
  lookSoon(): void {
    this.#alarm.wakeBy(this.#options.clock.nowMs() + limits.siteFirstLookMs);
  }

  /** A share below has changed: looks up its job soon, once for all changes meanwhile. */
  lookAtShare(run: SiteRun): void {
    run.isDue = true;
    this.#alarm.wakeBy(this.#options.clock.nowMs() + limits.siteShareLookMs);
  }

  close(): void {
    this.#alarm.stop();
  }

  async #work(): Promise<void> {
    const { clock, signal } = this.#options;
    if (this.#isBusy || signal.aborted) return;
    this.#isBusy = true;
    const isAll = this.#isAllDue;
    this.#isAllDue = false;
    try {
      const due = isAll ? this.#below() : this.#due();
      await forEachOf(due, (run) => this.#look(run));
      await this.#explain(due);
      this.#outage.succeeded();
    } catch (error) {
      if (signal.aborted) return;
      this.#isAllDue ||= isAll;
      this.#outage.failed(error, clock.nowMs());
    } finally {
      this.#isBusy = false;
      if (signal.aborted) this.#alarm.stop();
      else if (this.#isAllDue) this.#alarm.wakeBy(Math.max(clock.nowMs(), this.#outage.retryAtMs));
      else if (this.#below().some(({ isDue }) => isDue))
        this.#alarm.wakeBy(this.#nextShareLookMs());
      else if (this.#below().length > 0) this.#alarm.wakeBy(clock.nowMs() + limits.siteLookMs);
    }
  }

  #nextShareLookMs(): number {
    return Math.max(this.#options.clock.nowMs() + limits.siteShareLookMs, this.#outage.retryAtMs);
  }

  #below(): SiteRun[] {
    return [...this.#options.active()].filter(({ at }) => at === "below");
  }

  /** The run whose last lookup is oldest goes first. */
  #due(): SiteRun[] {
    const nowMs = this.#options.clock.nowMs();
    return this.#below()
      .filter(
        ({ isQueued, isDue, lookedAtMs }) =>
          isQueued || isDue || nowMs - lookedAtMs >= limits.siteSweepMs,
      )
      .toSorted((a, b) => a.lookedAtMs - b.lookedAtMs)
      .slice(0, limits.siteLooksMax);
  }

  async #look(run: SiteRun): Promise<void> {
    const { clock } = this.#options;
    const { taskId: id } = run.terms;
    if (id === undefined || run.ended !== undefined) return;
    run.lookedAtMs = clock.nowMs();
    const wasDue = run.isDue;
    run.isDue = false; // the next lookup sees later changes
    try {
      await this.#options.look(run, id);
    } catch (error) {
      run.isDue ||= wasDue;
      if (!isMissing(error)) throw error;
      this.#options.onMissing(run);
    }
  }

  /** Tasks of one job above have equal requests, and are queued for the same reason. */
  async #explain(looked: readonly SiteRun[]): Promise<void> {
    const waiting = looked.filter(({ isQueued, ended }) => isQueued && ended === undefined);
    const byJob = Map.groupBy(waiting, ({ id }) => id.jobId);
    const first = [...byJob.values()].slice(0, limits.siteExplainedMax);
    await forEachOf(first, async (runs) => {
      const reason = await this.#reasonOf(runs[0]);
      for (const run of runs) run.reason = reason;
    });
  }

  async #reasonOf(run: SiteRun | undefined): Promise<string | undefined> {
    const { api, signal } = this.#options;
    const id = run?.terms.taskId?.split(".", 1)[0];
    if (id === undefined) return undefined;
    try {
      return toReason(await api.explainJob({ id }, { signal }));
    } catch (error) {
      if (signal.aborted) throw error;
      return isMissing(error)
        ? undefined
        : `the reason is not known, its site does not answer: ${describeChain(error)}`;
    }
  }
}

const REASONS_NAMED = 3;

/** One line, without the number of pending tasks, which the Busbar above shows too. */
export function toReason({ summary, reasons }: Pick<Explanation, "summary" | "reasons">): string {
  const text = summary.replace(/^\d+ tasks? waits?(?::| in) /, "");
  const why = reasons
    .slice(0, REASONS_NAMED)
    .map(({ reason, nodes }) => `${nodes === 1 ? "1 node" : `${nodes} nodes`}: ${reason}`);
  return why.length === 0 ? text : `${text} (${why.join("; ")})`;
}
