import type { Clock } from "../../ports/clock.ts";

/** Callers that wait for an event of a key, or for a timeout. */
export class WakeList {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wait(key: string, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(key) ?? new Set();
      this.#waiting.set(key, waiting);
      const wake = (): void => {
        cancel();
        waiting.delete(wake);
        if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
        resolve();
      };
      const cancel = this.#clock.after(waitMs, wake);
      waiting.add(wake);
    });
  }

  wake(key: string): void {
    for (const wake of this.#waiting.get(key) ?? []) wake();
  }

  wakeAll(): void {
    for (const key of this.#waiting.keys()) this.wake(key);
  }
}
