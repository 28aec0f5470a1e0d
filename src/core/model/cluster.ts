import type { ClusterState, StateCounter } from "../graph/cluster-state.ts";
import type { Graph } from "../graph/graph.ts";
import type { Subsystem } from "../graph/subsystems/subsystem.ts";
import type { ClusterId } from "./ids.ts";

/**
 * A named place that takes work. `managed`: its nodes have agents, Busbar places on nodes, and what
 * it has is told by them. `pulling`: it was registered with a graph of what it has; tasks are
 * offered to it as a whole, and its own scheduler runs those that it takes.
 */
export interface Cluster {
  readonly id: ClusterId;
  readonly kind: "managed" | "pulling";
  readonly createdAtMs: number;
  /** Absent: a server before 0.2 did not note it. */
  readonly registeredBy?: string;
  /** Who last gave it another graph, or added or removed a subsystem; absent: nobody, or it was not noted. */
  readonly changedBy?: string;
}

/** What a pulling cluster has. */
export interface ClusterGraph {
  readonly id: ClusterId;
  readonly graph: Graph;
}

/** A subsystem of a cluster's graph; its links count vertices of that graph. */
export interface ClusterSubsystem {
  readonly id: ClusterId;
  readonly subsystem: Subsystem;
}

/** The reported state of a cluster, and which of its keys go down as tasks are assigned to it. */
export interface ClusterStatus {
  readonly id: ClusterId;
  readonly state: ClusterState;
  readonly counters: readonly StateCounter[];
  /** Who last set it; absent: a server before 0.2 did not note it. Counting down is nobody's change. */
  readonly changedBy?: string;
}
