const SECOND_MS = 1_000;
const MINUTE_S = 60;

/** Counts events, second by second, for the last minute. */
export class Rates {
  readonly #bySecond = new Map<number, number>();

  add(nowMs: number, count = 1): void {
    const second = Math.floor(nowMs / SECOND_MS);
    this.#bySecond.set(second, (this.#bySecond.get(second) ?? 0) + count);
    for (const old of this.#bySecond.keys()) {
      if (old > second - MINUTE_S - 1) break;
      this.#bySecond.delete(old);
    }
  }

  /** The rate per second, over so many full seconds before now. */
  over(seconds: number, nowMs: number): number {
    const now = Math.floor(nowMs / SECOND_MS);
    let sum = 0;
    for (const [second, count] of this.#bySecond) {
      if (second >= now - seconds && second < now) sum += count;
    }
    return sum / seconds;
  }
}
