import type { Cluster, ClusterStatus } from "../../core/model/cluster.ts";
import type { ClusterRowView } from "./views.ts";

/** The stored fields of a cluster, without those that follow from its nodes and its graph. */
export function showClusterRow(
  { id, kind, createdAtMs, registeredBy, changedBy }: Cluster,
  status: ClusterStatus | undefined,
  revision: number,
): ClusterRowView {
  const told = Object.entries(status?.state ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    name: id,
    kind,
    createdAtMs,
    ...(registeredBy === undefined ? {} : { registeredBy }),
    ...(changedBy === undefined ? {} : { changedBy }),
    ...(status?.changedBy === undefined ? {} : { stateChangedBy: status.changedBy }),
    state: told.map(([key, { value, setAtMs }]) => ({ key, value, setAtMs })),
    counters: status?.counters ?? [],
    revision,
  };
}
