import type { Node } from "../../model/node/node.ts";
import type { Resources } from "../../model/resources.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import type { Request } from "../request.ts";
import type { Reason } from "./reason.ts";

/** A node as filters see it. `verify` and explanations pass their own free amounts. */
export type FilterNode = Pick<NodeRecord, "node" | "free" | "graph"> & {
  readonly ports: { has(port: number): boolean };
  readonly tasks: { readonly size: number };
};

/**
 * The answer of all filters for one node: yes; not now (an event can change it); never (only another
 * node, or a change of this one, can help).
 */
export type Verdict =
  | { readonly kind: "yes" }
  | { readonly kind: "not-now"; readonly reason: Reason }
  | { readonly kind: "never"; readonly reason: Reason };

/** Pure: depends on its arguments alone. */
export interface Question {
  readonly allows: (request: Request, node: FilterNode) => boolean;
  /** Called only where `allows` is false. */
  readonly reason: (request: Request, node: FilterNode) => Reason;
  /** For the remaining nodes, where `reason` is slow. */
  readonly briefReason?: () => Reason;
}

/**
 * One reason to reject nodes. All code that decides about nodes asks the whole chain (chain.ts), so a
 * filter in its list applies everywhere. The declarations below only save calls: without them, the
 * planner calls the filter for every node.
 */
export interface Filter {
  readonly name: string;
  /** Whether the empty node could take the task: depends on the node's offer and its graph. */
  readonly ever?: Question;
  /**
   * Whether it could take the task now: depends on the node's row, its tasks and its graph. A filter
   * with `ever` allows nothing now that it never allows.
   */
  readonly now?: Question;
  /** `now` gives the same answer to all requests, and its answer changes only with the node's row. */
  readonly nowFollowsRow?: true;
  /**
   * Requests with equal keys get equal answers to `ever`: the chain calls it when a node is added to
   * the pool of such requests, and not for each placement.
   */
  readonly requestKey?: (request: Request) => string;
  /**
   * Nodes with equal keys give equal answers to this request and to every smaller request of the same
   * kind: explanations check one of them.
   */
  readonly nodeKey?: (request: Request) => (node: FilterNode) => string;
  /** Nodes and requests are filed under places, so that both find each other without a search. */
  readonly place?: FilterPlace;
  /** The filter rejects nodes with less free capacity now. Nodes and waiting lanes are sorted by it. */
  readonly leastFree?: (request: Request) => Resources;
}

export interface FilterPlace {
  /** A request is filed under the narrowest of its places: 1 is one node. */
  readonly width: number;
  /** Only nodes with this key can be allowed; undefined: the request names no such place. */
  readonly ofRequest: (request: Request) => string | undefined;
  readonly ofNode: (node: Node) => readonly string[];
}
