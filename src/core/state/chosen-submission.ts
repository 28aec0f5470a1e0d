import type { ResourceChoice } from "../graph/request/request.ts";
import type { Choosing, Chosen } from "../scheduler/clusters/choose-for-all.ts";
import type { ClusterAnswer } from "../scheduler/explain/satisfy.ts";
import type { Submission, Submitted } from "./submission.ts";

/** The command that chooses one of several pull clusters and submits a job to it. */
export interface SubmitToChosen {
  readonly kind: "submit-to-chosen";
  /** It names no cluster. */
  readonly submission: Submission;
  /** The request of each of its parts; empty: it requests nothing. */
  readonly resources: readonly ResourceChoice[];
  /** The clusters to choose from. */
  readonly names: readonly string[];
  readonly choosing: Choosing;
  /** The answers of the clusters for each part, and the version of the clusters at that time. */
  readonly prepared: {
    readonly version: string;
    readonly answers: readonly (readonly CandidateAnswer[])[];
  };
  /** From 0 up to, not including, 1: for a random choice. */
  readonly fraction: number;
  readonly nowMs: number;
}

export type CandidateAnswer = Pick<ClusterAnswer, "cluster" | "now" | "slots">;

/** The cluster that got the job, or the dropped clusters when none was left. */
export type ChosenSubmission =
  | ({ readonly kind: "submitted"; readonly cluster: string } & Submitted)
  | { readonly kind: "none"; readonly dropped: Chosen["dropped"] };
