import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { LowerIds, LowerJob } from "./scheduler.ts";

/** The result of one of several submissions. */
export type LowerSubmitAnswer =
  | { readonly kind: "taken"; readonly ids: LowerIds }
  | { readonly kind: "failed"; readonly error: AppError };

/**
 * Submits jobs by one command each, a few at the same time. Answers in the order of the jobs. After the
 * scheduler has failed to answer once, the other jobs are not submitted.
 */
export async function submitEach(
  jobs: readonly LowerJob[],
  submit: (job: LowerJob) => Promise<LowerIds>,
): Promise<readonly LowerSubmitAnswer[]> {
  const answers: LowerSubmitAnswer[] = [];
  const left = jobs.entries();
  let away: LowerSubmitAnswer | undefined;
  const work = async (): Promise<void> => {
    for (const [at, job] of left) {
      const answer = away ?? (await answerOf(() => submit(job)));
      if (isUnavailable(answer)) away ??= answer;
      answers[at] = answer;
    }
  };
  await Promise.all(Array.from({ length: limits.lowerCommandsAtOnceMax }, work));
  return answers;
}

export const isUnavailable = (answer: LowerSubmitAnswer | undefined): boolean =>
  answer?.kind === "failed" && answer.error.code === "unavailable";

async function answerOf(submit: () => Promise<LowerIds>): Promise<LowerSubmitAnswer> {
  try {
    return { kind: "taken", ids: await submit() };
  } catch (error) {
    return { kind: "failed", error: AppError.from(error, "submit a job") };
  }
}
