import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

/**
 * Counts the steps that one call takes on all graphs together. A call that has taken too many is
 * rejected before it begins another graph; answers that were found already stay known.
 */
export class MatchTotal {
  #steps = 0;

  get steps(): number {
    return this.#steps;
  }

  add(steps: number): void {
    this.#steps += steps;
  }

  check(): void {
    if (this.#steps < limits.callStepsMax) return;
    throw new AppError(
      "exhausted",
      `matching all tasks against all clusters takes more than ${limits.callStepsMax} steps; ` +
        "ask for fewer tasks at once",
    );
  }
}
