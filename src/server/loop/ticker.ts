import type { TickSettings } from "../../core/state/command.ts";
import { nextTickMs } from "../../core/state/decide/tick.ts";
import type { State } from "../../core/state/state.ts";
import { describeChain } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { ControlLoop } from "./control-loop.ts";

/**
 * Turns time into commands. One alarm serves everything that depends on time (deadlines, lost nodes,
 * backoffs, removal); the ticker sets it again after each commit. There is no timer per job or task.
 */
export class Ticker {
  readonly #state: State;
  readonly #loop: ControlLoop;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #settings: TickSettings;
  #alarm: { readonly atMs: number; readonly cancel: () => void } | undefined = undefined;
  #isTicking = false;
  #isClosed = false;

  constructor(options: {
    readonly state: State;
    readonly loop: ControlLoop;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly settings: TickSettings;
  }) {
    this.#state = options.state;
    this.#loop = options.loop;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#settings = options.settings;
  }

  /** Sets the alarm for the next due time. Cheap: the loop calls it after every commit. */
  arrange(): void {
    if (this.#isClosed || this.#isTicking) return;
    const atMs = Math.min(
      nextTickMs(this.#state, this.#settings) ?? Number.POSITIVE_INFINITY,
      this.#state.queue.nextReleaseMs() ?? Number.POSITIVE_INFINITY,
    );
    if (atMs === this.#alarm?.atMs) return;
    this.#alarm?.cancel();
    this.#alarm = undefined;
    if (atMs === Number.POSITIVE_INFINITY) return;
    // Timers hold 31 bits of milliseconds; a longer wait looks again halfway.
    const delayMs = Math.min(Math.max(atMs - this.#clock.nowMs(), 0), limits.timerMsMax);
    this.#alarm = { atMs, cancel: this.#clock.after(delayMs, () => this.#ring()) };
  }

  #ring(): void {
    this.#alarm = undefined;
    const nowMs = this.#clock.nowMs();
    if ((this.#state.queue.nextReleaseMs() ?? Number.POSITIVE_INFINITY) <= nowMs) this.#loop.wake();
    this.#isTicking = true;
    this.#loop.submit({ kind: "tick", nowMs, settings: this.#settings }).then(
      () => {
        this.#isTicking = false;
        this.arrange();
      },
      (error: unknown) => {
        this.#isTicking = false;
        this.#logger.warn({ reason: describeChain(error) }, "periodic work failed; trying again");
        this.#tryLater(nowMs + limits.tickRetryMs);
      },
    );
  }

  /** After a rejected tick the same work is still due: without a pause the ticker would retry without end. */
  #tryLater(atMs: number): void {
    if (this.#isClosed) return;
    this.#alarm = { atMs, cancel: this.#clock.after(limits.tickRetryMs, () => this.#ring()) };
  }

  close(): void {
    this.#isClosed = true;
    this.#alarm?.cancel();
  }
}
