import { SeededNumbers } from "../../src/lib/seeded-numbers.ts";
import type { Random } from "../../src/ports/random.ts";

/**
 * The same seed gives the same numbers on every machine. Each part of a simulation has its own fork, so that one more draw in one part does
 * not change the others.
 */
export class Seeded implements Random {
  readonly #numbers: SeededNumbers;

  constructor(seed: number) {
    this.#numbers = new SeededNumbers(seed);
  }

  fork(): Seeded {
    return new Seeded(this.#numbers.next());
  }

  fraction(): number {
    return this.#numbers.fraction();
  }

  token(bytes: number): string {
    return Array.from({ length: bytes }, () => this.int(0, 255).toString(16).padStart(2, "0")).join(
      "",
    );
  }

  /** An integer from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.int(0, items.length - 1)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  /** Mostly short, sometimes very long: this finds timeouts and backlogs. */
  delayMs(usualMax: number, rareMax: number): number {
    return this.chance(0.97) ? this.int(0, usualMax) : this.int(usualMax, rareMax);
  }
}
