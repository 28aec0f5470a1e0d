import type { PowerStep, ScheduleSpec } from "../../../core/model/node/schedule-spec.ts";
import { SeededNumbers } from "../../../lib/seeded-numbers.ts";

const TICK_MS = 60_000;
const WATTS = [5, 10, 22, 37] as const;
const FIRST_WATTS = 5;
const TICKS_MAX = 20;

/**
 * The power of one edge over time. From a seed: 5 W at first, then every 1 to 20 minutes a draw from 5, 10, 22 and 37 W,
 * as edges of the earlier system had it.
 */
export class PowerSchedule {
  readonly #numbers: SeededNumbers | undefined;
  readonly #steps: PowerStep[];

  /** `edge`: the index of the edge. */
  constructor(spec: ScheduleSpec, edge: number) {
    this.#numbers = spec.kind === "seed" ? new SeededNumbers(spec.seed, edge) : undefined;
    this.#steps = firstSteps(spec);
  }

  wattsAt(ms: number): number {
    return this.#stepAt(ms).watts;
  }

  /** The first change after a moment; undefined: none will come. */
  nextChange(ms: number): PowerStep | undefined {
    const { watts } = this.#stepAt(ms);
    for (let at = this.#indexAt(ms) + 1; ; at++) {
      const step = this.#step(at);
      if (step === undefined || step.watts !== watts) return step;
    }
  }

  /** Watt-seconds between two moments. */
  energy(fromMs: number, toMs: number): number {
    let sum = 0;
    for (let at = this.#indexAt(fromMs); ; at++) {
      const step = this.#step(at);
      const endMs = Math.min(this.#step(at + 1)?.fromMs ?? toMs, toMs);
      if (step === undefined || step.fromMs >= toMs) return sum;
      sum += (step.watts * (endMs - Math.max(step.fromMs, fromMs))) / 1_000;
      if (endMs >= toMs) return sum;
    }
  }

  /** The time when so many watt-seconds are used from a moment on; undefined: never. */
  whenUsed(fromMs: number, wattSeconds: number): number | undefined {
    let left = wattSeconds;
    for (let at = this.#indexAt(fromMs); ; at++) {
      const step = this.#step(at);
      if (step === undefined) return undefined;
      const beginMs = Math.max(step.fromMs, fromMs);
      const nextMs = this.#step(at + 1)?.fromMs;
      const needMs = step.watts === 0 ? Number.POSITIVE_INFINITY : (left * 1_000) / step.watts;
      if (nextMs === undefined) return Number.isFinite(needMs) ? beginMs + needMs : undefined;
      if (beginMs + needMs <= nextMs) return beginMs + needMs;
      left -= (step.watts * (nextMs - beginMs)) / 1_000;
    }
  }

  #stepAt(ms: number): PowerStep {
    return this.#step(this.#indexAt(ms)) ?? { fromMs: 0, watts: 0 };
  }

  #indexAt(ms: number): number {
    let at = this.#steps.findLastIndex(({ fromMs }) => fromMs <= ms);
    while ((this.#step(at + 1)?.fromMs ?? Number.POSITIVE_INFINITY) <= ms) at++;
    return Math.max(0, at);
  }

  /** Drawn on first use. */
  #step(at: number): PowerStep | undefined {
    while (this.#numbers !== undefined && this.#steps.length <= at) {
      const ticks = 1 + Math.floor(this.#numbers.fraction() * TICKS_MAX);
      const watts = WATTS[Math.floor(this.#numbers.fraction() * WATTS.length)] ?? FIRST_WATTS;
      const fromMs = (this.#steps.at(-1)?.fromMs ?? 0) + ticks * TICK_MS;
      this.#steps.push({ fromMs, watts });
    }
    return this.#steps[at];
  }
}

function firstSteps(spec: ScheduleSpec): PowerStep[] {
  if (spec.kind !== "steps") {
    return [{ fromMs: 0, watts: spec.kind === "seed" ? FIRST_WATTS : spec.watts }];
  }
  const isFromStart = spec.steps[0]?.fromMs === 0;
  return isFromStart ? [...spec.steps] : [{ fromMs: 0, watts: 0 }, ...spec.steps];
}
