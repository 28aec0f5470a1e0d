import { limits } from "../../../limits.ts";
import type { ClusterMatch } from "../../graph/cluster-graphs.ts";
import type { ClusterId } from "../../model/ids.ts";
import { clusterId } from "../../model/ids.ts";
import { candidateOf } from "./cluster-candidate.ts";
import type { ClusterTable } from "./cluster-table.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import { clusterRequestOf, type Request } from "../request.ts";
import { preferenceNow } from "../nodes/placement-cost.ts";
import type { PreparedSelects } from "../../select/prepared-selects.ts";
import type { Candidate, Dropped, Select, Selection } from "../../select/strategy.ts";

/** A place for a task now: a node, or a pull cluster. */
export type Target =
  | { readonly kind: "node"; readonly node: NodeRecord }
  | { readonly kind: "cluster"; readonly cluster: ClusterId };

/** The strategy for jobs that name none. */
export interface ClusterPolicy {
  readonly select: Select;
  /** The strategies that a job can name. */
  readonly ofJobs: PreparedSelects;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
}

export interface ClusterChoice {
  readonly targets: ReadonlyMap<string, Target>;
  readonly selection: Selection;
}

/**
 * Chooses between clusters with a node that has free capacity (`nodes`: the best of each) and pull clusters.
 * Clusters that satisfy the preferences go first; then the others, when none of these is good
 * enough; last the pull clusters whose agents are all disconnected.
 */
export function chooseCluster(
  clusters: ClusterTable,
  request: Request,
  nodes: ReadonlyMap<ClusterId, NodeRecord>,
  policy: ClusterPolicy,
): ClusterChoice {
  const targets = new Map<string, Target>();
  const byPreference = new Map<number, Candidate[]>();
  const add = (target: Target, id: ClusterId, preference: number, slots?: number): void => {
    targets.set(id, target);
    const equal = byPreference.get(preference);
    const candidate = candidateOf(clusters, id, slots);
    if (equal === undefined) byPreference.set(preference, [candidate]);
    else equal.push(candidate);
  };
  for (const [id, node] of nodes) add({ kind: "node", node }, id, preferenceNow(request, node));
  for (const { cluster, alternative, slots } of pullingFor(clusters, request)) {
    const id = clusterId(cluster);
    // A cluster whose agents are all disconnected is better than none.
    const later = clusters.loads.hasOnlyUnavailableAgents(id) ? limits.requestAlternativesMax : 0;
    add({ kind: "cluster", cluster: id }, id, alternative + later, slots);
  }
  const select = selectOf(request, policy);
  const context = {
    parameters: request.select?.parameters ?? {},
    random: policy.random,
    turn: clusters.turn,
  };
  const dropped: Dropped[] = [];
  for (const [, candidates] of [...byPreference].sort(([a], [b]) => a - b)) {
    candidates.sort((a, b) => (a.name < b.name ? -1 : 1));
    const selection = select(candidates, context);
    dropped.push(...selection.dropped);
    if (selection.ranked.length > 0) {
      return { targets, selection: { ranked: selection.ranked, dropped } };
    }
  }
  return { targets, selection: { ranked: [], dropped } };
}

const selectOf = ({ select }: Request, { select: usual, ofJobs }: ClusterPolicy): Select =>
  select?.strategy === undefined ? usual : ofJobs.of(select.strategy, select.options);

/** The pull clusters that have the requested resources: only they know whether these are free. */
function pullingFor({ graphs }: ClusterTable, request: Request): readonly ClusterMatch[] {
  const { cluster: named } = request.where;
  const asked = graphs.isEmpty ? undefined : clusterRequestOf(request);
  if (asked === undefined || (named !== undefined && !graphs.has(named))) return [];
  if (named === undefined) return graphs.satisfy(asked.compiled, "ever").matches;
  const match = graphs.match(named, asked.compiled);
  return match.fits ? [{ ...match, cluster: named }] : [];
}
