import type { Clock } from "../../ports/clock.ts";

/** Time that moves only when told to; timers fire in order of their time. */
export class FakeClock implements Clock {
  #nowMs = 1_000_000;
  readonly #timers = new Set<{ readonly atMs: number; readonly wake: () => void }>();

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, wake: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, wake };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  get timers(): number {
    return this.#timers.size;
  }

  /** Lets `ms` pass, and whatever was asked for meanwhile happen. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.atMs <= untilMs);
      const [next] = due.sort((a, b) => a.atMs - b.atMs);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.wake();
      await settle();
    }
    this.#nowMs = untilMs;
  }
}

/** Lets promises that are ready run. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
