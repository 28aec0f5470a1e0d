import { invariant } from "../../../../lib/invariant.ts";
import { type Revision, revision as toRevision } from "../../../model/ids.ts";

const NONE = 0;
const NEAR_MAX = 2 ** 32 - 1;

/**
 * Revisions at places 0 to size - 1. 4 bytes each while all are within about 2^31 of the first one,
 * 8 bytes each afterwards.
 */
export class RevisionColumn {
  /** Added to each number of the column. */
  #base: number | undefined = undefined;
  #numbers: Uint32Array | Float64Array;

  constructor(size: number) {
    this.#numbers = new Uint32Array(size);
  }

  put(at: number, revision: Revision): void {
    this.#base ??= Math.max(0, revision - 2 ** 31) - 1;
    const number = revision - this.#base;
    if (this.#numbers instanceof Uint32Array && (number <= NONE || number > NEAR_MAX)) {
      const base = this.#base;
      this.#numbers = Float64Array.from(this.#numbers, (near) =>
        near === NONE ? NONE : near + base + 1,
      );
      this.#base = -1;
      this.#numbers[at] = revision + 1;
      return;
    }
    this.#numbers[at] = number;
  }

  get(at: number): Revision {
    const number = this.#numbers[at] ?? NONE;
    invariant(number !== NONE && this.#base !== undefined, "a row has a revision");
    return toRevision(number + this.#base);
  }

  has(at: number): boolean {
    return this.#numbers[at] !== NONE;
  }
}
