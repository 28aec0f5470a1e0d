import type { ClusterId } from "./ids.ts";

/**
 * A named place that takes work. `managed`: its nodes have agents, Busbar places on nodes.
 * (`pulling` clusters, which ask for jobs, come with their door.)
 */
export interface Cluster {
  readonly id: ClusterId;
  readonly kind: "managed";
  readonly createdAtMs: number;
}
