import { silenceMsMax } from "../core/model/heartbeat.ts";
import { limits } from "../limits.ts";
import type { Clock } from "../ports/clock.ts";

/**
 * Keeps the two ends of a link sure of each other. `beat` is called when nothing was sent, or
 * nothing heard, for the interval; `silent` once, when nothing was heard for too long. A busy link
 * needs no heartbeats.
 */
export class Liveness {
  readonly #clock: Clock;
  readonly #beat: () => void;
  readonly #silent: () => void;
  #intervalMs = 0;
  #sentMs = 0;
  #heardMs = 0;
  #cancelBeat: (() => void) | undefined;
  #cancelSilence: (() => void) | undefined;

  constructor(clock: Clock, on: { readonly beat: () => void; readonly silent: () => void }) {
    this.#clock = clock;
    this.#beat = on.beat;
    this.#silent = on.silent;
  }

  /** Counts from now on. An interval that is too long is shortened: the server would give us up. */
  setInterval(intervalMs: number): void {
    this.#intervalMs = Math.min(intervalMs, limits.heartbeatIntervalMsMax);
    this.heard();
    this.#beatIn(this.#intervalMs);
  }

  sent(): void {
    this.#sentMs = this.#clock.nowMs();
  }

  heard(): void {
    this.#heardMs = this.#clock.nowMs();
    this.#cancelSilence?.();
    this.#cancelSilence = this.#clock.after(silenceMsMax(this.#intervalMs), () => {
      // This process may have been the one that did not run: what has arrived meanwhile is read first.
      this.#cancelSilence = this.#clock.after(limits.silenceConfirmMs, this.#silent);
    });
  }

  stop(): void {
    this.#cancelBeat?.();
    this.#cancelSilence?.();
  }

  #beatIn(delayMs: number): void {
    this.#cancelBeat?.();
    this.#cancelBeat = this.#clock.after(delayMs, () => {
      const dueMs = Math.min(this.#sentMs, this.#heardMs) + this.#intervalMs;
      const leftMs = dueMs - this.#clock.nowMs();
      if (leftMs <= 0) this.#beat();
      // The clock may have been set back.
      this.#beatIn(leftMs <= 0 ? this.#intervalMs : Math.min(leftMs, this.#intervalMs));
    });
  }
}
