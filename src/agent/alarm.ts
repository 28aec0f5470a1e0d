import type { Clock } from "../ports/clock.ts";

const DELAY_MS_MAX = 3_600_000; // longer delays overflow Node's timers, and clocks may be set

/** One timer for many deadlines: calls `wake` at the earliest requested time, and then has no timer set. */
export class Alarm {
  readonly #clock: Clock;
  readonly #wake: () => void;
  #atMs = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  wakeBy(atMs: number): void {
    if (atMs >= this.#atMs) return;
    this.stop();
    this.#atMs = atMs;
    const delayMs = Math.min(Math.max(0, atMs - this.#clock.nowMs()), DELAY_MS_MAX);
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#atMs = Number.POSITIVE_INFINITY;
      this.#cancel = undefined;
      this.#wake();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#atMs = Number.POSITIVE_INFINITY;
  }
}
