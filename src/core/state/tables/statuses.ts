import type { ClusterStatus } from "../../model/cluster.ts";
import type { ClusterId } from "../../model/ids.ts";
import { idOf, oneRow, type Removed, type Table, type Written } from "../table.ts";

export type StatusChange = Written<"status", ClusterStatus> | Removed<"status", ClusterId>;

/** The reported state and counters of pull clusters. */
export const statusTable: Table<StatusChange> = {
  name: "status",
  isWatched: false,
  ...oneRow((change) => `status/${idOf(change)}`),
  decode: (_key, value) => ({ table: "status", row: JSON.parse(value) as ClusterStatus }),
  newRows: () => undefined,
  apply(state, change) {
    const mayHelp =
      "removed" in change
        ? state.clusters.removeStatus(change.removed)
        : state.clusters.putStatus(change.row);
    // It changes what a cluster can run now, not which requests are satisfiable.
    if (mayHelp) state.queue.clustersChanged(idOf(change));
  },
  isNewest(state, change) {
    if ("removed" in change) return !state.clusters.hasStatus(change.removed);
    return state.clusters.statusOf(change.row.id) === change.row;
  },
  check: () => [],
  digest: ({ clusters }) => clusters.inOrder.map(({ id }) => clusters.statusOf(id)),
};
