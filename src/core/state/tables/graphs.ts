import { decodeGraph, encodeGraph } from "../../graph/rows.ts";
import type { ClusterGraph } from "../../model/cluster.ts";
import { type ClusterId, clusterId } from "../../model/ids.ts";
import { graphDigest } from "../checks/clusters.ts";
import { clusterOffersChanged } from "../effects.ts";
import { idOf, oneRow, type Removed, restOf, type Table, type Written } from "../table.ts";

/** A new graph drops the subsystems of the old one: each must be written again. */
export type GraphChange = Written<"graph", ClusterGraph> | Removed<"graph", ClusterId>;

/** Graphs of pull clusters, from their registrations. */
export const graphTable: Table<GraphChange> = {
  name: "graph",
  isWatched: false,
  ...oneRow(
    (change) => `graph/${idOf(change)}`,
    ({ graph }) => encodeGraph(graph),
  ),
  decode: (key, value) => ({
    table: "graph",
    row: { id: clusterId(restOf(key)), graph: decodeGraph(value) },
  }),
  newRows: () => undefined,
  apply(state, change) {
    const { graphs } = state.clusters;
    if ("removed" in change) graphs.delete(change.removed);
    else graphs.put(change.row.id, change.row.graph);
    clusterOffersChanged(state, idOf(change));
  },
  isNewest(state, change) {
    if ("removed" in change) return !state.clusters.graphs.has(change.removed);
    const { id, graph } = change.row;
    return state.clusters.graphs.has(id) && state.clusters.graphs.graph(id) === graph;
  },
  check: () => [],
  digest: (state) => state.clusters.inOrder.map(({ id }) => graphDigest(state, id)),
};
