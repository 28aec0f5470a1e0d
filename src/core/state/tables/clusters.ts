import type { Cluster } from "../../model/cluster.ts";
import type { ClusterId } from "../../model/ids.ts";
import { checkClusters } from "../checks/clusters.ts";
import { ClusterTable } from "../../scheduler/clusters/cluster-table.ts";
import { clearPossible } from "../effects.ts";
import { idOf, oneRow, type Removed, type WatchedTable, type Written } from "../table.ts";

export type ClusterChange = Written<"cluster", Cluster> | Removed<"cluster", ClusterId>;

/** Graphs, subsystems, declared software and statuses are stored with the clusters. */
export const clusterTable: WatchedTable<ClusterChange, ClusterTable> = {
  name: "cluster",
  isWatched: true,
  ...oneRow((change) => `cluster/${idOf(change)}`),
  decode: (_key, value) => ({ table: "cluster", row: JSON.parse(value) as Cluster }),
  newRows: () => new ClusterTable(),
  apply(state, change) {
    // A cluster without a graph can run no job that waits for one: the queue need not search.
    if ("removed" in change) state.clusters.remove(change.removed);
    else if (!state.clusters.put(change.row, state.writing)) return;
    clearPossible(state);
  },
  isNewest(state, change) {
    if ("removed" in change) return state.clusters.get(change.removed) === undefined;
    return state.clusters.get(change.row.id) === change.row;
  },
  check: checkClusters,
  digest: ({ clusters }) =>
    clusters.inOrder.map((row) => ({ row, revision: clusters.revisionOf(row.id) })),
};
