import type { ClusterState, StateCounter } from "../graph/cluster-state.ts";
import type { Graph } from "../graph/graph.ts";
import type { Subsystem } from "../graph/subsystems/subsystem.ts";
import type { ClusterId } from "./ids.ts";

/**
 * A named set of nodes that runs tasks. `managed`: its nodes have agents, which report them, and Busbar
 * places tasks on nodes. `pulling`: it was registered with a graph; Busbar offers tasks to it as a
 * whole, and its own scheduler runs those that it accepts.
 */
export interface Cluster {
  readonly id: ClusterId;
  readonly kind: "managed" | "pulling";
  readonly createdAtMs: number;
  /** Absent: a server before 0.2 did not record it. */
  readonly registeredBy?: string;
  /** Who last replaced its graph, or added or removed a subsystem; absent: nobody, or it was not recorded. */
  readonly changedBy?: string;
}

/** The graph of a pull cluster. */
export interface ClusterGraph {
  readonly id: ClusterId;
  readonly graph: Graph;
}

/** A subsystem of a cluster's graph; its links are numbers of vertices of that graph. */
export interface ClusterSubsystem {
  readonly id: ClusterId;
  readonly subsystem: Subsystem;
}

/** The reported state of a cluster, and which of its keys go down as tasks are assigned to it. */
export interface ClusterStatus {
  readonly id: ClusterId;
  readonly state: ClusterState;
  readonly counters: readonly StateCounter[];
  /** Who last set it; absent: a server before 0.2 did not record it. Counting down does not set it. */
  readonly changedBy?: string;
}
