import type { Refusal } from "../../graph/match/refusal.ts";
import type { NodeReason } from "../explain/explain.ts";
import type { DropReason } from "../../select/strategy.ts";

/** Why a cluster does not accept a task. `describeClusterReasons` turns it into text for people. */
export type ClusterReason =
  | { readonly kind: "other-cluster"; readonly asked: string }
  | { readonly kind: "managed-only" }
  /** A pull cluster gets tasks that name it or that request parts of a graph. */
  | { readonly kind: "not-asked-for" }
  | { readonly kind: "node-or-labels-asked" }
  /** Only agents of nodes start containers. */
  | { readonly kind: "containers-asked" }
  /** Only agents of nodes pass a client's input on. */
  | { readonly kind: "attach-asked" }
  /** Energy is split over nodes, and a pull cluster reports none. */
  | { readonly kind: "energy-asked" }
  | { readonly kind: "graph"; readonly refusals: readonly Refusal[] }
  | { readonly kind: "no-nodes" }
  | { readonly kind: "nodes"; readonly reasons: readonly NodeReason[] }
  /** It could accept the task, but the selection strategy leaves it out. */
  | { readonly kind: "dropped"; readonly reason: DropReason };
