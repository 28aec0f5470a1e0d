import { limits } from "../../../limits.ts";

/**
 * The steps that matching has taken so far, over all graphs and callers. To limit a turn or a call,
 * compare it before and after: this counts every way into matching.
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
