import type { Random } from "../../src/ports/random.ts";

/**
 * A seeded source (sfc32): the same seed gives the same numbers on every machine. Each part of a
 * simulation has a fork of its own, so that one more question asked in one part does not change
 * what all the others draw.
 */
export class Seeded implements Random {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = 0x9e3779b9;
    this.#c = 0x243f6a88;
    for (let round = 0; round < 15; round++) this.#next(); // mixes small seeds apart
  }

  #next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#count++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }

  fork(): Seeded {
    return new Seeded(this.#next());
  }

  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  token(bytes: number): string {
    return Array.from({ length: bytes }, () => this.int(0, 255).toString(16).padStart(2, "0")).join(
      "",
    );
  }

  /** A whole number from `min` to `max`, both included. */
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

  /** Mostly short, sometimes very long: where timeouts and backlogs are found. */
  delayMs(usualMax: number, rareMax: number): number {
    return this.chance(0.97) ? this.int(0, usualMax) : this.int(usualMax, rareMax);
  }
}
