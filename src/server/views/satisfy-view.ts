import type { Cluster } from "../../core/model/cluster.ts";

/** Which clusters could run what was asked for. */
export interface SatisfyView {
  /** Names of those that could ever, and could now, run all of it. */
  readonly ever: readonly string[];
  readonly now: readonly string[];
  readonly tasks: readonly {
    readonly name: string;
    readonly clusters: readonly ClusterAnswerView[];
  }[];
  /** Pull clusters of `ever` that cannot run all parts at once: there they run one after the other. */
  readonly oneAfterOther: readonly string[];
  /** When it was asked how one would be chosen. */
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
  /** Absent: none is good enough. */
  readonly chosen?: string;
  /** All that remain, the chosen one first. */
  readonly ranked: readonly string[];
  readonly dropped: readonly { readonly name: string; readonly reason: string }[];
}

/** Where a job went whose cluster was chosen; or what clusters answered, and why rules left none. */
export type ChosenJobView =
  | { readonly kind: "submitted"; readonly id: string; readonly cluster: string }
  | ({ readonly kind: "none" } & Pick<SatisfyView, "tasks"> & Pick<SelectionView, "dropped">);
