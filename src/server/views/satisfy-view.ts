import type { Cluster } from "../../core/model/cluster.ts";

/** The clusters that could run the request. */
export interface SatisfyView {
  /** Names of clusters that can run all of it at some time, and now. */
  readonly ever: readonly string[];
  readonly now: readonly string[];
  readonly tasks: readonly {
    readonly name: string;
    readonly clusters: readonly ClusterAnswerView[];
  }[];
  /** Pull clusters of `ever` that cannot run all parts at once: there they run one after the other. */
  readonly oneAfterOther: readonly string[];
  /** Present when the request has a selection. */
  readonly selection?: SelectionView;
  readonly revision: number;
}

export interface ClusterAnswerView {
  readonly cluster: string;
  readonly kind: Cluster["kind"];
  readonly ever: boolean;
  readonly now: boolean;
  readonly slots: number;
  readonly alternative: number;
  readonly reasons: readonly string[];
}

export interface SelectionView {
  readonly strategy: string;
  /** Absent: no cluster qualifies. */
  readonly chosen?: string;
  /** All remaining clusters, the chosen one first. */
  readonly ranked: readonly string[];
  readonly dropped: readonly { readonly name: string; readonly reason: string }[];
}

/** The chosen cluster of a job; or the answers of clusters, and why the rules left none. */
export type ChosenJobView =
  | { readonly kind: "submitted"; readonly id: string; readonly cluster: string }
  | ({ readonly kind: "none" } & Pick<SatisfyView, "tasks"> & Pick<SelectionView, "dropped">);
