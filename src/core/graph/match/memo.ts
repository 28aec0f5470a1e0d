/** Above this many numbers, room is taken only for those that are known, and only for so many. */
const NUMBERS_MAX = 1 << 20;

/**
 * Remembers numbers that are not negative, by place. May forget: whoever asks can compute them
 * again. So a huge graph and a huge request cost time together, but not memory.
 */
export class Memo {
  readonly #dense: Float64Array | undefined;
  readonly #sparse = new Map<number, number>();

  constructor(size: number) {
    this.#dense = size <= NUMBERS_MAX ? new Float64Array(size).fill(-1) : undefined;
  }

  /** -1: not known. A number in every case, because this is asked very often. */
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
