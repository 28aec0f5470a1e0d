import type { StateValues } from "../../graph/cluster-state.ts";
import type { ClusterId } from "../../model/ids.ts";
import type { ClusterTable } from "./cluster-table.ts";
import { candidateOf } from "./choose-cluster.ts";
import type { ClusterAnswer } from "../explain/satisfy.ts";
import { strategyByName } from "../../select/all.ts";
import type { Candidate, Dropped, Select } from "../../select/strategy.ts";

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

type Answer = Pick<ClusterAnswer, "cluster" | "now" | "slots">;

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
  parts: readonly (readonly Answer[])[],
  { strategy, options, parameters, ...known }: Choosing,
  random: () => number,
): Chosen {
  const select = known.select ?? strategyByName(strategy).prepare(options);
  const { ranked, dropped } = select(candidatesOf(state, parts), {
    parameters,
    random,
    turn: state.clusters.turn,
  });
  return { strategy, ranked: ranked.map(({ name }) => name), dropped };
}

function candidatesOf(
  state: ClustersView,
  parts: readonly (readonly Answer[])[],
): readonly Candidate[] {
  const slots = new Map<ClusterId, number>();
  for (const answer of parts[0] ?? []) slots.set(answer.cluster, Infinity);
  for (const answer of parts.flat()) {
    const known = slots.get(answer.cluster);
    if (known === undefined) continue;
    if (answer.now) slots.set(answer.cluster, Math.min(known, answer.slots));
    else slots.delete(answer.cluster);
  }
  return [...slots].map(([cluster, count]) => candidateOf(state.clusters, cluster, count));
}
