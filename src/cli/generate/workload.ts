import { SeededNumbers } from "../../lib/seeded-numbers.ts";

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The energy of each job, in watt-seconds: the same from the same seed. */
export class Workload {
  readonly #numbers: SeededNumbers;
  readonly #energy: Range;
  #made = 0;

  constructor(seed: number, energy: Range) {
    this.#numbers = new SeededNumbers(seed);
    this.#energy = energy;
  }

  get made(): number {
    return this.#made;
  }

  next(): { readonly name: string; readonly wattSeconds: number } {
    const { from, to } = this.#energy;
    const wattSeconds = from + Math.floor(this.#numbers.fraction() * (to - from + 1));
    this.#made++;
    return { name: `job-${this.#made}`, wattSeconds };
  }
}

/** The number of due jobs: by the rate since the start, within the allowed backlog, up to the count. */
export function dueNow(now: {
  readonly elapsedMs: number;
  readonly ratePerSecond: number;
  readonly made: number;
  readonly count: number;
  readonly unfinished: number;
  readonly backlogMax: number;
}): number {
  const byRate = Math.floor((now.elapsedMs * now.ratePerSecond) / 1_000) + 1 - now.made;
  const room = now.backlogMax - now.unfinished;
  return Math.max(0, Math.min(byRate, room, now.count - now.made));
}
