import type { JgfDocument } from "../core/graph/jgf.ts";

/**
 * Asks the scheduler of a cluster what the cluster has and how busy it is, for the agent of that cluster. Each call
 * has a time limit. Both calls throw AppError `unavailable` when the scheduler does not answer; a later call is safe
 * and may succeed. `describe` throws `invalid_argument` for an error that a later call would meet again.
 */
export interface ClusterSource {
  /** The cluster's machines as a graph, and the subsystems linked to them. The same cluster gives the same text. */
  describe(): Promise<ClusterDescription>;
  observe(): Promise<ClusterObservation>;
  /** Calls `listener` when either answer has changed. Absent: the scheduler does not notify us of changes. */
  onChange?(listener: () => void): void;
}

export interface ClusterDescription {
  readonly graph: JgfDocument;
  readonly subsystems: readonly { readonly name: string; readonly document: JgfDocument }[];
}

export interface ClusterObservation {
  /** Values for the cluster's state: nodes_free, nodes_total, cores_free, queue_length, running … */
  readonly state: Readonly<Record<string, number>>;
  /** Free capacity for a new task, in base units (see Resources); includes nodes. */
  readonly free: Readonly<Record<string, number>>;
  /**
   * The part of the used capacity that this agent's own runs use. With it, no one has to work out which of these
   * runs the scheduler had seen. Undefined: the scheduler does not report it.
   */
  readonly own?: Readonly<Record<string, number>>;
}
