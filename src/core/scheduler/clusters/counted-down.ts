import { countDown } from "../../graph/cluster-state.ts";
import { verticesOfType } from "../../graph/match/allocation.ts";
import type { Alternative } from "../../graph/match/compile-request.ts";
import type { ClusterStatus } from "../../model/cluster.ts";
import type { ClusterId } from "../../model/ids.ts";
import type { ClusterTable } from "./cluster-table.ts";
import { clusterRequestOf, type Request } from "../request.ts";

/**
 * The state of the cluster with its counters reduced by this request; undefined: it has no
 * counters.
 */
export function countedDown(
  clusters: ClusterTable,
  id: ClusterId,
  request: Request,
): ClusterStatus | undefined {
  const status = clusters.statusOf(id);
  const asked = clusterRequestOf(request);
  if (status.counters.length === 0 || asked === undefined) return undefined;
  const { graphs } = clusters;
  const { allocation } = graphs.allocation(id, asked.compiled);
  const alternative = asked.compiled.alternatives[allocation?.alternative ?? 0];
  const given = {
    nodes: allocation === undefined ? 0 : verticesOfType(graphs.graph(id), allocation, "node"),
    slots: alternative === undefined ? 0 : slotsAsked(alternative),
  };
  const state = countDown(status.state, status.counters, given);
  return { ...status, state };
}

function slotsAsked({ needs, slot }: Alternative): number {
  if (slot === undefined) return 1;
  let count = 1;
  for (let at = slot.need.number; at >= 0; at = needs[at]?.above ?? -1)
    count *= needs[at]?.count ?? 1;
  return count;
}
