import type { Clock } from "../ports/clock.ts";

/** A clock turned by hand. Timers fire in order of their time when it is advanced past them. */
export class FakeClock implements Clock {
  #nowMs: number;
  #timers: { readonly atMs: number; readonly wake: () => void }[] = [];

  constructor(nowMs = 1_000_000) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, wake: () => void): () => void {
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), wake };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  get timers(): number {
    return this.#timers.length;
  }

  /** Time passes in which this process does not run; what is due fires with the next `advance`. */
  stall(ms: number): void {
    this.#nowMs += ms;
  }

  advance(ms: number): void {
    const until = this.#nowMs + ms;
    for (;;) {
      const due = this.#timers
        .filter(({ atMs }) => atMs <= until)
        .sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== due);
      this.#nowMs = Math.max(this.#nowMs, due.atMs);
      due.wake();
    }
    this.#nowMs = until;
  }
}
