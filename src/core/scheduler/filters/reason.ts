import type { Refusal } from "../../graph/match/refusal.ts";
import type { NodeStateName } from "../../model/node/node.ts";

/** Why a filter rejects a node. `describeReason` turns it into text for people. */
export type Reason =
  /** Its agent accepts tasks for a pull cluster; none are placed on it. */
  | { readonly kind: "cluster-agent" }
  | { readonly kind: "pull-clusters-only" }
  /** It represents the edges of a site. */
  | { readonly kind: "shares-only" }
  | { readonly kind: "other-cluster"; readonly asked: string }
  | { readonly kind: "other-node"; readonly asked: string }
  | { readonly kind: "other-label"; readonly name: string; readonly asked: string }
  | { readonly kind: "no-containers"; readonly why: string }
  | { readonly kind: "no-attach" }
  /** It starts instances of workloads, and nothing else. */
  | { readonly kind: "instances-only" }
  | { readonly kind: "no-file-images" }
  /** It starts Pods, but no Functions. */
  | { readonly kind: "no-functions" }
  /** One refusal for each alternative of the request, without repetitions. */
  | { readonly kind: "graph"; readonly refusals: readonly Refusal[] }
  /** The same, for nodes beyond the first kinds: an explanation takes long. */
  | { readonly kind: "graph-unexplained"; readonly explainedMax: number }
  /** Even the empty node has too little of the resource. */
  | ({ readonly kind: "too-small"; readonly has: number } & Shortage)
  | ({ readonly kind: "busy"; readonly free: number } & Shortage)
  /** It accepts shares, and has no power for one now. */
  | { readonly kind: "no-power" }
  /** Another task uses the port of the node. */
  | { readonly kind: "port-taken"; readonly port: number }
  | {
      readonly kind: "not-ready";
      readonly state: NodeStateName;
      readonly why: string | undefined;
    };

/** In base units. */
interface Shortage {
  readonly resource: string;
  readonly asked: number;
}
