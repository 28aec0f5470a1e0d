import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import { Alarm } from "../alarm.ts";
import type { LowerLedger } from "./lower-ledger.ts";
import { Outage, pollDelayMs } from "./retry-delays.ts";
import { Poller } from "./poller.ts";
import type { PartFiles } from "./wrapper/part-files.ts";
import type { LowerRun } from "./run.ts";
import { startOf } from "./run.ts";
import type { LowerScheduler } from "./scheduler.ts";
import type { LowerSubmitterOptions } from "./submitter.ts";
import { LowerSubmitter } from "./submitter.ts";

export interface SchedulerRoundsOptions extends LowerSubmitterOptions {
  readonly logger: Logger;
  /** Called once a round, for other due work; returns when it wants to be called again. */
  alsoAt(nowMs: number): number | undefined;
}

/**
 * Brings the scheduler in line with the ledger, and the ledger with the scheduler, in rounds, one at a
 * time: looks up submissions without an answer, submits, cancels, polls. While the scheduler does not
 * answer nothing ends and nothing is lost: the rounds continue, ever more rarely.
 */
export class SchedulerRounds {
  readonly #ledger: LowerLedger;
  readonly #clock: Clock;
  readonly #scheduler: LowerScheduler;
  readonly #files: PartFiles;
  readonly #alsoAt: SchedulerRoundsOptions["alsoAt"];
  readonly #alarm: Alarm;
  readonly #asking: Outage;
  readonly #submitting: Outage; // it may answer polls and accept no jobs
  readonly #submitter: LowerSubmitter;
  readonly #poller: Poller;
  #round: Promise<void> | undefined;
  #wokenAtMs = Number.POSITIVE_INFINITY;
  #isClosed = false;
  #polledAtMs = 0;
  #pollTookMs = 0;

  constructor(options: SchedulerRoundsOptions) {
    const { ledger, clock, scheduler, logger } = options;
    this.#ledger = ledger;
    this.#clock = clock;
    this.#scheduler = scheduler;
    this.#files = options.files;
    this.#alsoAt = (nowMs) => options.alsoAt(nowMs);
    this.#submitter = new LowerSubmitter(options);
    this.#poller = new Poller(options);
    this.#asking = new Outage(`${scheduler.name} does not answer`, logger);
    this.#submitting = new Outage(`${scheduler.name} accepts no jobs`, logger);
    this.#alarm = new Alarm(clock, () => this.#begin());
  }

  /** There is new work, to do within `delayMs`. */
  wake(delayMs = 0): void {
    if (this.#isClosed) return;
    const atMs = this.#clock.nowMs() + delayMs;
    this.#wokenAtMs = Math.min(this.#wokenAtMs, atMs);
    this.#alarm.wakeBy(atMs);
  }

  /** Waits a while for the current call to the scheduler; makes no further call. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#alarm.stop();
    let cancel = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      cancel = this.#clock.after(limits.lowerCloseMsMax, resolve);
    });
    await Promise.race([this.#round, late]);
    cancel();
  }

  #begin(): void {
    if (this.#round !== undefined || this.#isClosed) return;
    this.#wokenAtMs = Number.POSITIVE_INFINITY;
    this.#round = this.#keepUp().finally(() => {
      this.#round = undefined;
      if (!this.#isClosed) this.#alarm.wakeBy(this.#nextAtMs());
    });
  }

  async #keepUp(): Promise<void> {
    this.#checkTimeLimits(this.#clock.nowMs());
    this.#submitter.endIdle();
    await this.#attempt(this.#asking, async () => {
      for (const step of [
        () => this.#submitter.lookUp(),
        () => this.#cancel(),
        () => this.#poll(),
      ]) {
        if (!this.#isClosed) await step();
      }
      return true;
    });
    if (!this.#asking.isOver(this.#clock.nowMs())) return;
    await this.#attempt(this.#submitting, async () => {
      const isMore = await this.#submitter.submit();
      if (isMore) this.wake();
      return isMore;
    });
  }

  /** Runs `work` unless it is too early after a failure. `work` returns whether it proves that the scheduler works. */
  async #attempt(outage: Outage, work: () => Promise<boolean>): Promise<void> {
    if (this.#isClosed || !outage.isOver(this.#clock.nowMs())) return;
    try {
      if (await work()) outage.succeeded();
    } catch (error) {
      if (!this.#isClosed) outage.failed(error, this.#clock.nowMs());
    }
  }

  async #poll(): Promise<void> {
    const nowMs = this.#clock.nowMs();
    if (nowMs < this.#pollAtMs(nowMs)) return;
    await this.#poller.poll();
    this.#polledAtMs = this.#clock.nowMs();
    this.#pollTookMs = this.#polledAtMs - nowMs;
  }

  #pollAtMs(nowMs: number): number {
    const delayMs = pollDelayMs(nowMs - this.#ledger.changedAtMs);
    return this.#polledAtMs + Math.max(delayMs, limits.lowerPollRestFactor * this.#pollTookMs);
  }

  #nextAtMs(): number {
    const nowMs = this.#clock.nowMs();
    const alsoAtMs = this.#alsoAt(nowMs) ?? Number.POSITIVE_INFINITY;
    if (this.#ledger.active.size === 0) return alsoAtMs;
    let atMs = Math.min(this.#pollAtMs(nowMs), this.#submitter.lookUpAtMs ?? Infinity);
    for (const run of this.#ledger.active) atMs = Math.min(atMs, limitAtMs(run), killAtMs(run));
    atMs = Math.max(atMs, this.#asking.retryAtMs);
    const woken = Math.max(this.#wokenAtMs, this.#asking.retryAtMs, this.#submitting.retryAtMs);
    const retryAtMs = this.#submitting.isOver(nowMs) ? Infinity : this.#submitting.retryAtMs;
    return Math.min(alsoAtMs, atMs, woken, retryAtMs);
  }

  #checkTimeLimits(nowMs: number): void {
    for (const run of this.#ledger.active) {
      if (nowMs >= limitAtMs(run)) this.#ledger.beginStop(run, "time-limit");
    }
  }

  async #cancel(): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const ids = { ask: [] as string[], kill: [] as string[] };
    for (const run of this.#ledger.active) {
      const { stop } = run;
      if (stop === undefined) continue;
      const how = nowMs >= stop.killAtMs + limits.lowerKillNetMs ? "kill" : "ask";
      const isDue =
        stop.asked?.how !== how || nowMs >= stop.asked.atMs + limits.lowerCancelRepeatMs;
      const known = run.parts.flat().filter(({ state }) => state.kind === "submitted");
      if (!isDue || known.length === 0) continue;
      for (const { key, state } of known) {
        if (state.kind !== "submitted") continue;
        this.#files.orderStop(key, stop.killAtMs - nowMs);
        ids[how].push(state.id);
      }
      run.stop = { ...stop, asked: { how, atMs: nowMs } };
    }
    if (ids.ask.length > 0) await this.#scheduler.cancel(ids.ask, "ask");
    if (ids.kill.length > 0) await this.#scheduler.cancel(ids.kill, "kill");
  }
}

/** When the time limit of a run is over. Schedulers report its start in seconds. */
function limitAtMs(run: LowerRun): number {
  const startedAtMs = startOf(run);
  const { timeLimitMs } = run.terms;
  if (run.stop !== undefined || startedAtMs === undefined || timeLimitMs === undefined) {
    return Number.POSITIVE_INFINITY;
  }
  return startedAtMs + SECOND_MS + timeLimitMs;
}

const SECOND_MS = 1_000;

/** When a run that is being stopped is first killed. */
function killAtMs({ stop }: LowerRun): number {
  if (stop === undefined || stop.asked?.how === "kill") return Number.POSITIVE_INFINITY;
  return stop.killAtMs + limits.lowerKillNetMs;
}
