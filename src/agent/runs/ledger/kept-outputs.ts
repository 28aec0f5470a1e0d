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

/** The outputs of forgotten runs, oldest first, within bounds. */
export class KeptOutputs<Terms = unknown> {
  readonly #bounds: KeptBounds;
  readonly #outputs = new Map<string, KeptOutput<Terms>>(); // in the order they were forgotten
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
    for (const [key, output] of this.#outputs) {
      const isOld = nowMs - output.forgottenAtMs >= this.#bounds.ageMsMax;
      const isOver =
        this.#outputs.size > this.#bounds.runsMax || this.#bytes > this.#bounds.bytesMax;
      if (!isOld && !isOver) break;
      this.remove(key);
      surplus.push([key, output]);
    }
    return surplus;
  }

  /** When the oldest gets too old; undefined when there is none. */
  nextSurplusAtMs(): number | undefined {
    const oldest = this.#outputs.values().next().value;
    return oldest && oldest.forgottenAtMs + this.#bounds.ageMsMax;
  }
}
