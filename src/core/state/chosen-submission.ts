import type { ResourceChoice } from "../graph/request/request.ts";
import type { Choosing, Chosen } from "../scheduler/clusters/choose-for-all.ts";
import type { ClusterAnswer } from "../scheduler/explain/satisfy.ts";
import type { Submission, Submitted } from "./submission.ts";

/** The command by which one of several pull clusters is chosen, and gets a job. */
export interface SubmitToChosen {
  readonly kind: "submit-to-chosen";
  /** It names no cluster. */
  readonly submission: Submission;
  /** What each of its parts asks for; none: nothing. */
  readonly resources: readonly ResourceChoice[];
  /** Those to choose from. */
  readonly names: readonly string[];
  readonly choosing: Choosing;
  /** What they answered for each part, and of which version of the clusters. */
  readonly prepared: {
    readonly version: string;
    readonly answers: readonly (readonly CandidateAnswer[])[];
  };
  /** From 0 up to, not including, 1: for choosing at random. */
  readonly fraction: number;
  readonly nowMs: number;
}

export type CandidateAnswer = Pick<ClusterAnswer, "cluster" | "now" | "slots">;

/** Which cluster got a job, or which were dropped so that none was left. */
export type ChosenSubmission =
  | ({ readonly kind: "submitted"; readonly cluster: string } & Submitted)
  | { readonly kind: "none"; readonly dropped: Chosen["dropped"] };
