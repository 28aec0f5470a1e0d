import { NO_STATE } from "../graph/cluster-state.ts";
import { ClusterGraphs } from "../graph/cluster-graphs.ts";
import type { Graph } from "../graph/graph.ts";
import type { Subsystem } from "../graph/subsystem.ts";
import type { Cluster, ClusterGraph, ClusterStatus, ClusterSubsystem } from "../model/cluster.ts";
import type { ClusterId } from "../model/ids.ts";
import type { Change } from "./change.ts";

type ClusterChange = Extract<Change, { table: "cluster" | "graph" | "subsystem" | "status" }>;

/** All clusters: their rows, and the graphs of those that were registered. Changed by State.apply. */
export class ClusterTable {
  readonly rows = new Map<ClusterId, Cluster>();
  /** Of pulling clusters only; what managed ones have follows from their nodes. */
  readonly graphs = new ClusterGraphs();
  readonly #statuses = new Map<ClusterId, ClusterStatus>();

  get(id: ClusterId): Cluster | undefined {
    return this.rows.get(id);
  }

  statusOf(id: ClusterId): ClusterStatus {
    return this.#statuses.get(id) ?? { id, state: NO_STATE, counters: [] };
  }

  hasStatus(id: ClusterId): boolean {
    return this.#statuses.has(id);
  }

  subsystem(id: ClusterId, name: string): Subsystem | undefined {
    return this.graphs.has(id) ? this.graphs.subsystems(id).get(name) : undefined;
  }

  /** In the order of their names. */
  get inOrder(): readonly Cluster[] {
    return [...this.rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Whether nothing that was applied after the change has replaced what it wrote. */
  isNewest(change: ClusterChange): boolean {
    switch (change.table) {
      case "cluster":
        if ("removed" in change) return !this.rows.has(change.removed);
        return this.rows.get(change.row.id) === change.row;
      case "graph":
        if ("removed" in change) return !this.graphs.has(change.removed);
        return this.#graphOf(change.row.id) === change.row.graph;
      case "subsystem":
        if ("removed" in change) return this.subsystem(change.removed, change.name) === undefined;
        return this.subsystem(change.row.id, change.row.subsystem.name) === change.row.subsystem;
      case "status":
        if ("removed" in change) return !this.#statuses.has(change.removed);
        return this.#statuses.get(change.row.id) === change.row;
    }
  }

  #graphOf(id: ClusterId): Graph | undefined {
    return this.graphs.has(id) ? this.graphs.graph(id) : undefined;
  }

  put(row: Cluster): void {
    this.rows.set(row.id, row);
  }

  remove(id: ClusterId): void {
    this.rows.delete(id);
  }

  putGraph({ id, graph }: ClusterGraph): void {
    this.graphs.put(id, graph);
  }

  removeGraph(id: ClusterId): void {
    this.graphs.delete(id);
  }

  putSubsystem({ id, subsystem }: ClusterSubsystem): void {
    this.graphs.putSubsystem(id, subsystem);
  }

  removeSubsystem(id: ClusterId, name: string): void {
    if (this.graphs.has(id)) this.graphs.deleteSubsystem(id, name);
  }

  putStatus(row: ClusterStatus): void {
    this.#statuses.set(row.id, row);
  }

  removeStatus(id: ClusterId): void {
    this.#statuses.delete(id);
  }
}
