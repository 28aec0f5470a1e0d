import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { matchWork } from "./match-work.ts";

/**
 * Counts the steps that one call takes on all graphs together. Rejects the call before the next
 * graph once it has taken too many; results found before stay cached.
 */
export class MatchTotal {
  readonly #stepsMax: number;
  #steps = 0;

  constructor(stepsMax: number = limits.callStepsMax) {
    this.#stepsMax = stepsMax;
  }

  get steps(): number {
    return this.#steps;
  }

  get isSpent(): boolean {
    return this.#steps >= this.#stepsMax;
  }

  /** Runs `work`, unless too many steps were taken before it. */
  count<Result>(work: () => Result): Result {
    if (this.isSpent) {
      throw new AppError(
        "exhausted",
        `comparing the requests with all nodes and clusters takes more than ${this.#stepsMax} ` +
          "steps; send fewer different requests at once, or name a cluster in the placement",
      );
    }
    const before = matchWork.steps;
    try {
      return work();
    } finally {
      this.#steps += matchWork.steps - before;
    }
  }
}
