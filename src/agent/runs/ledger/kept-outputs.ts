import { limits } from "../../../limits.ts";

export interface KeptOutput<Terms = unknown> {
  readonly forgottenAtMs: number;
  readonly bytes: number;
  readonly outputLimitBytes: number;
  /** Its directory holds nothing else and can serve another run; undefined: not known. */
  readonly isClean?: boolean;
  /** It printed nothing and no directory is left of it; undefined: not known. */
  readonly isEmpty?: boolean;
  /** Of executors that need them to find the output. */
  readonly terms?: Terms | undefined;
}

export interface KeptBounds {
  readonly runsMax: number;
  readonly bytesMax: number;
  readonly ageMsMax: number;
}

export const KEPT_BOUNDS: KeptBounds = {
  runsMax: limits.outputKeptRunsMax,
  bytesMax: limits.outputKeptBytesMax,
  ageMsMax: limits.outputKeptMsMax,
};

/**
 * The outputs of runs that were forgotten, oldest first, within bounds. The order stands in a list of
 * its own: the first entry of a map whose first entries were deleted takes 15 us to find with 10,000.
 */
export class KeptOutputs<Terms = unknown> {
  readonly #bounds: KeptBounds;
  readonly #outputs = new Map<string, KeptOutput<Terms>>(); // in the order they were forgotten
  #order: (readonly [key: string, output: KeptOutput<Terms>])[] = []; // with those that were removed since
  #head = 0; // before it nothing is kept
  #bytes = 0;

  constructor(bounds: KeptBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#outputs.size;
  }

  get(key: string): KeptOutput<Terms> | undefined {
    return this.#outputs.get(key);
  }

  has(key: string): boolean {
    return this.#outputs.has(key);
  }

  entries(): IterableIterator<[string, KeptOutput<Terms>]> {
    return this.#outputs.entries();
  }

  add(key: string, output: KeptOutput<Terms>): void {
    this.remove(key);
    this.#outputs.set(key, output);
    this.#order.push([key, output]);
    this.#bytes += output.bytes;
  }

  /** False when there was none. */
  remove(key: string): boolean {
    const output = this.#outputs.get(key);
    if (output === undefined) return false;
    this.#outputs.delete(key);
    this.#bytes -= output.bytes;
    return true;
  }

  /** Takes out what is too many, too much or too old now; the caller deletes the files. */
  takeSurplus(nowMs: number): [key: string, output: KeptOutput<Terms>][] {
    const surplus: [string, KeptOutput<Terms>][] = [];
    for (;;) {
      const oldest = this.#oldest();
      if (oldest === undefined) return surplus;
      const [key, output] = oldest;
      const isOld = nowMs - output.forgottenAtMs >= this.#bounds.ageMsMax;
      const isOver =
        this.#outputs.size > this.#bounds.runsMax || this.#bytes > this.#bounds.bytesMax;
      if (!isOld && !isOver) return surplus;
      this.remove(key);
      surplus.push([key, output]);
    }
  }

  /** When the oldest gets too old; undefined when there is none. */
  nextSurplusAtMs(): number | undefined {
    const oldest = this.#oldest();
    return oldest && oldest[1].forgottenAtMs + this.#bounds.ageMsMax;
  }

  #oldest(): readonly [key: string, output: KeptOutput<Terms>] | undefined {
    for (; this.#head < this.#order.length; this.#head++) {
      const entry = this.#order[this.#head]!;
      if (this.#outputs.get(entry[0]) === entry[1]) {
        this.#shorten();
        return entry;
      }
    }
    this.#order = [];
    this.#head = 0;
    return undefined;
  }

  #shorten(): void {
    if (this.#head < 1_024 || this.#head < this.#order.length / 2) return;
    this.#order = this.#order.slice(this.#head);
    this.#head = 0;
  }
}
