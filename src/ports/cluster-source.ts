import type { JgfDocument } from "../core/graph/jgf.ts";

/**
 * What the cluster that an agent speaks for has, and how it does: asked of its own scheduler, with a
 * limit on each wait. Both throw AppError `unavailable` when the scheduler does not answer; asking
 * again later is safe and may succeed. `describe` throws `invalid_argument` for what asking again will not change.
 */
export interface ClusterSource {
  /** Its machines as a graph, and what is linked to them. The same cluster gives the same text. */
  describe(): Promise<ClusterDescription>;
  observe(): Promise<ClusterObservation>;
  /** Tells when either would give something else, where the scheduler tells that by itself. */
  onChange?(listener: () => void): void;
}

export interface ClusterDescription {
  readonly graph: JgfDocument;
  readonly subsystems: readonly { readonly name: string; readonly document: JgfDocument }[];
}

export interface ClusterObservation {
  /** For the cluster's state: nodes_free, nodes_total, cores_free, queue_length, running … */
  readonly state: Readonly<Record<string, number>>;
  /** What a new task could take now, in base units (see Resources), nodes too. */
  readonly free: Readonly<Record<string, number>>;
  /**
   * What this agent's own runs used of the rest, where the scheduler tells that: nobody needs to know then which of
   * them it had seen. Undefined: it does not.
   */
  readonly own?: Readonly<Record<string, number>>;
}
