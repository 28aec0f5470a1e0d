import type { Submission } from "../../../core/state/submission.ts";
import { invariant } from "../../../lib/invariant.ts";
import { inSlices } from "../../loop/in-slices.ts";
import type { SubmissionInput } from "../operations.ts";
import { checkSubmissions } from "../submit-operations.ts";

/**
 * Jobs that passed the checks, remembered while their door holds them: doors submit the same object again for a
 * job with the same fields, and no check depends on anything else.
 */
export class CheckedJobs {
  readonly #known = new WeakMap<SubmissionInput, Submission>();

  async check(job: SubmissionInput): Promise<Submission> {
    const known = this.#known.get(job);
    if (known !== undefined) return known;
    const [submission] = await inSlices(checkSubmissions([job]));
    invariant(submission !== undefined, "one job was given");
    this.#known.set(job, submission);
    return submission;
  }
}
