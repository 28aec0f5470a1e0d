import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";

/**
 * Starts and stops of one session, in slices: heartbeats and acknowledgements must not wait for thousands of them. Stops overtake starts,
 * and a queued start can be withdrawn.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #starts = new Map<string, () => void>();
  #stops: (() => void)[] = [];
  #resume: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  push(
    starts: Iterable<readonly [key: string, start: () => void]>,
    stops: readonly (() => void)[],
  ): void {
    for (const [key, start] of starts) this.#starts.set(key, start);
    for (const stop of stops) this.#stops.push(stop);
    if (this.#resume === undefined) this.#run();
  }

  /** Removes a start that has not begun. False: there is no start with that key. */
  withdraw(key: string): boolean {
    return this.#starts.delete(key);
  }

  has(key: string): boolean {
    return this.#starts.has(key);
  }

  get isEmpty(): boolean {
    return this.#starts.size === 0 && this.#stops.length === 0;
  }

  clear(): void {
    this.#starts.clear();
    this.#stops = [];
    this.#resume?.();
    this.#resume = undefined;
  }

  #run(): void {
    this.#resume = undefined;
    for (const stop of this.#stops.splice(0, limits.stopsPerSliceMax)) stop();
    if (this.#stops.length === 0) this.#runStarts();
    if (!this.isEmpty) this.#resume = this.#clock.after(0, () => this.#run());
  }

  #runStarts(): void {
    let left: number = limits.startsPerSliceMax;
    for (const [key, start] of this.#starts) {
      if (left === 0) return;
      left -= 1;
      this.#starts.delete(key);
      start();
    }
  }
}
