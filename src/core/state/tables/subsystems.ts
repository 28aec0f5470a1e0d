import { decodeSubsystem, encodeSubsystem } from "../../graph/rows.ts";
import type { ClusterSubsystem } from "../../model/cluster.ts";
import { type ClusterId, clusterId } from "../../model/ids.ts";
import { clusterOffersChanged } from "../effects.ts";
import { idOf, oneRow, type Removed, restOf, type Table, type Written } from "../table.ts";

export type SubsystemChange =
  | Written<"subsystem", ClusterSubsystem>
  | (Removed<"subsystem", ClusterId> & { readonly name: string });

const nameOf = (change: SubsystemChange): string =>
  "removed" in change ? change.name : change.row.subsystem.name;

/** Subsystems of the graphs of pull clusters. */
export const subsystemTable: Table<SubsystemChange> = {
  name: "subsystem",
  isWatched: false,
  // A cluster's name has no slash; a subsystem's may have any character.
  ...oneRow(
    (change) => `subsystem/${idOf(change)}/${nameOf(change)}`,
    ({ subsystem }) => encodeSubsystem(subsystem),
  ),
  decode(key, value) {
    const [id = ""] = restOf(key).split("/", 1);
    return {
      table: "subsystem",
      row: { id: clusterId(id), subsystem: decodeSubsystem(value) },
    };
  },
  newRows: () => undefined,
  apply(state, change) {
    const { graphs } = state.clusters;
    if (!("removed" in change)) graphs.putSubsystem(change.row.id, change.row.subsystem);
    // Its graph may be removed already, and the subsystem with it.
    else if (graphs.has(change.removed)) graphs.deleteSubsystem(change.removed, change.name);
    clusterOffersChanged(state, idOf(change));
  },
  isNewest(state, change) {
    const known = state.clusters.subsystem(idOf(change), nameOf(change));
    return known === ("removed" in change ? undefined : change.row.subsystem);
  },
  check: () => [],
  digest: () => undefined, // beside their graphs
};
