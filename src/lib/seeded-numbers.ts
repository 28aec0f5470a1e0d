/** Random numbers from a seed (sfc32): the same on every machine. One seed has many independent streams. */
export class SeededNumbers {
  #a: number;
  #b: number;
  #c = 0x243f6a88;
  #count = 1;

  constructor(seed: number, stream = 0x9e3779b9) {
    this.#a = seed | 0;
    this.#b = stream | 0;
    for (let round = 0; round < 15; round++) this.next(); // separates small seeds
  }

  /** An integer of 32 bits. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#count++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** In [0, 1). */
  fraction(): number {
    return this.next() / 2 ** 32;
  }
}
