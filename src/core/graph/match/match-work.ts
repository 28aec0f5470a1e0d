import { limits } from "../../../limits.ts";

/**
 * How many steps matching has taken so far, over all graphs and callers. Whoever bounds a turn or a
 * call compares it before and after: so every way into matching counts.
 */
export const matchWork = { steps: 0 };

/** Runs `work`; yields before it when the steps since the last yield fill a slice. */
export class Slicer {
  #since = matchWork.steps;

  *next<Result>(work: () => Result): Generator<undefined, Result> {
    if (matchWork.steps - this.#since >= limits.stepsPerSliceMax) {
      yield;
      this.#since = matchWork.steps;
    }
    return work();
  }
}
