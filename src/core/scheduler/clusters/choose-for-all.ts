import type { StateValues } from "../../graph/cluster-state.ts";
import type { AnswersOfParts } from "./candidate-lists.ts";
import type { ClusterTable } from "./cluster-table.ts";
import { strategyByName } from "../../select/all.ts";
import type { Dropped, Select } from "../../select/strategy.ts";

interface ClustersView {
  readonly clusters: ClusterTable;
}

/** How to choose one of several clusters. */
export interface Choosing {
  readonly strategy: string;
  /** The prepared strategy, where it is known already. */
  readonly select?: Select | undefined;
  readonly options: Readonly<Record<string, unknown>>;
  /** The job's own parameters, for rules. */
  readonly parameters: StateValues;
}

export interface Chosen {
  readonly strategy: string;
  /** The chosen cluster first; empty: none is good enough. */
  readonly ranked: readonly string[];
  readonly dropped: readonly Dropped[];
}

/**
 * The cluster that would be chosen of those that could accept all parts now. Changes no counters.
 */
export function chooseForAll(
  state: ClustersView,
  parts: AnswersOfParts,
  { strategy, options, parameters, ...known }: Choosing,
  random: () => number,
): Chosen {
  const select = known.select ?? strategyByName(strategy).prepare(options);
  const { ranked, dropped } = select(state.clusters.candidates.of(parts), {
    parameters,
    random,
    turn: state.clusters.turn,
  });
  return { strategy, ranked: ranked.map(({ name }) => name), dropped };
}
