import type { Clock } from "../ports/clock.ts";

interface Timer {
  readonly atMs: number;
  readonly wake: () => void;
}

/** A clock that the test advances. Timers fire in order of their time when the clock passes them. */
export class FakeClock implements Clock {
  #nowMs: number;
  #timers: Timer[] = [];

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

  /** Time passes in which this process does not run; due timers fire with the next `advance`. */
  stall(ms: number): void {
    this.#nowMs += ms;
  }

  /** Advances the clock; promises that the timers resolve run later. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      const due = this.#takeDue(untilMs);
      if (due === undefined) break;
      due.wake();
    }
    this.#nowMs = untilMs;
  }

  /** Advances the clock, and lets promises run before the first timer and after each one. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    for (;;) {
      const due = this.#takeDue(untilMs);
      if (due === undefined) break;
      due.wake();
      await settle();
    }
    this.#nowMs = untilMs;
  }

  /** Removes the next timer up to that time, and advances the clock to it. */
  #takeDue(untilMs: number): Timer | undefined {
    const [due] = this.#timers
      .filter(({ atMs }) => atMs <= untilMs)
      .sort((a, b) => a.atMs - b.atMs);
    if (due === undefined) return undefined;
    this.#timers = this.#timers.filter((other) => other !== due);
    this.#nowMs = Math.max(this.#nowMs, due.atMs);
    return due;
  }
}

/** Lets resolved promises run. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
