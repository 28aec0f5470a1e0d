import { limits } from "../limits.ts";
import type { Clock } from "../ports/clock.ts";

/**
 * Work in the order it came. Starting a process takes about a millisecond of this one, so after a
 * few starts the link gets its turn: heartbeats and acknowledgements must not wait for thousands.
 */
export class WorkQueue {
  readonly #clock: Clock;
  #items: (() => void)[] = [];
  #resume: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  push(items: readonly (() => void)[]): void {
    for (const item of items) this.#items.push(item);
    if (this.#resume === undefined) this.#run();
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  clear(): void {
    this.#items = [];
    this.#resume?.();
    this.#resume = undefined;
  }

  #run(): void {
    this.#resume = undefined;
    for (const item of this.#items.splice(0, limits.startsPerSliceMax)) item();
    if (this.#items.length > 0) this.#resume = this.#clock.after(0, () => this.#run());
  }
}
