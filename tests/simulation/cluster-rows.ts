import type { Cluster, ClusterStatus } from "../../src/core/model/cluster.ts";
import type { Change } from "../../src/core/state/change.ts";

/** The clusters on the disk. */
export class ClusterRows {
  readonly clusters = new Map<string, Cluster>();
  /** The root of each registered graph: by its id clients recognize what they sent. */
  readonly roots = new Map<string, string>();
  /** The nodes of each cluster that have io; undefined: all of them. */
  readonly io = new Map<string, readonly (string | undefined)[]>();
  readonly statuses = new Map<string, ClusterStatus>();

  clear(): void {
    this.clusters.clear();
    this.roots.clear();
    this.io.clear();
    this.statuses.clear();
  }

  remove(table: string, id: string): void {
    if (table === "cluster") this.clusters.delete(id);
    if (table === "graph") this.roots.delete(id);
    if (table === "subsystem" || table === "declared") this.io.delete(id);
    if (table === "status") this.statuses.delete(id);
  }

  put(change: Change): void {
    if ("removed" in change) return;
    if (change.table === "cluster") this.clusters.set(change.row.id, change.row);
    if (change.table === "status") this.statuses.set(change.row.id, change.row);
    if (change.table === "graph") {
      const { ids, parentOf } = change.row.graph;
      this.roots.set(change.row.id, ids[parentOf.indexOf(-1)] ?? "");
    }
    if (change.table === "subsystem") this.io.set(change.row.id, ["n0"]); // as clients link it
    if (change.table === "declared") {
      const nodes = change.row.entries.map(({ node }) => node);
      this.io.set(change.row.id, nodes);
    }
  }

  /** Whether tasks can be offered to it. */
  isPulling(id: string): boolean {
    return this.clusters.get(id)?.kind === "pulling" && this.roots.has(id);
  }

  hasIo(id: string, node: string): boolean {
    return this.io.get(id)?.some((one) => one === undefined || one === node) === true;
  }
}
