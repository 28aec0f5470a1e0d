/** Above this many numbers the memo holds only computed ones, and at most this many. */
const NUMBERS_MAX = 1 << 20;

/**
 * A cache of non-negative numbers by index. It may drop entries, which callers compute again: so a
 * huge graph with a huge request costs time, but not memory.
 */
export class Memo {
  readonly #dense: Float64Array | undefined;
  readonly #sparse = new Map<number, number>();

  constructor(size: number) {
    this.#dense = size <= NUMBERS_MAX ? new Float64Array(size).fill(-1) : undefined;
  }

  /** -1: not cached. Always a number, because this is a hot path. */
  get(at: number): number {
    if (this.#dense === undefined) return this.#sparse.get(at) ?? -1;
    return this.#dense[at] ?? -1;
  }

  set(at: number, value: number): number {
    if (this.#dense !== undefined) return (this.#dense[at] = value);
    if (this.#sparse.size >= NUMBERS_MAX) this.#sparse.clear();
    this.#sparse.set(at, value);
    return value;
  }

  clear(): void {
    this.#dense?.fill(-1);
    this.#sparse.clear();
  }
}
