import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import { steadyMs } from "../../ports/clock.ts";

interface Sample {
  /** The server's time minus the agent's steady clock. */
  readonly offsetMs: number;
  readonly errorMs: number;
  readonly takenMs: number;
}

/**
 * The server's time, as an agent estimates it: each answer carries it, and was written between its request and its arrival. The shortest
 * exchange is the most exact. An agent trusts its own clock if that fits an exchange. Measured by the steady clock: setting the agent's
 * clock changes nothing.
 */
export class ServerTime {
  readonly #clock: Clock;
  #best: Sample | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An answer arrived, written at `serverTimeMs`, to a request sent at `sentMs` (steady). */
  answered(sentMs: number, serverTimeMs: number): void {
    const nowMs = steadyMs(this.#clock);
    const [least, most] = [serverTimeMs - nowMs, serverTimeMs - sentMs];
    const own = this.#clock.nowMs() - nowMs;
    const offsetMs = own >= least && own <= most ? own : (least + most) / 2;
    const sample = { offsetMs, errorMs: (most - least) / 2, takenMs: nowMs };
    if (this.#best === undefined || isBetter(sample, this.#best)) this.#best = sample;
  }

  /** The server's time at a moment of the steady clock; by the agent's own clock while nothing is known. */
  at(momentMs: number): number {
    const ownMs = this.#clock.nowMs() - steadyMs(this.#clock);
    return Math.round(momentMs + (this.#best?.offsetMs ?? ownMs));
  }

  /** How far the agent's clock is ahead of the server's, negative if behind; undefined: the difference is insignificant. */
  get wrongByMs(): number | undefined {
    if (this.#best === undefined) return undefined;
    const { offsetMs, errorMs } = this.#best;
    const aheadMs = this.#clock.nowMs() - (steadyMs(this.#clock) + offsetMs);
    const isLarge = Math.abs(aheadMs) > limits.clockOffsetMsMax + errorMs;
    return isLarge ? Math.round(aheadMs) : undefined;
  }
}

/** An old sample is worth less, because clocks drift; a contradicting one means that a clock was set. */
function isBetter(sample: Sample, best: Sample): boolean {
  const agedMs = best.errorMs + (sample.takenMs - best.takenMs) * limits.clockDriftMax;
  if (sample.errorMs <= agedMs) return true;
  return Math.abs(sample.offsetMs - best.offsetMs) > sample.errorMs + agedMs;
}
