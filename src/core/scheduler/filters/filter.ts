import type { Node } from "../../model/node/node.ts";
import type { Resources } from "../../model/resources.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import type { Request } from "../request.ts";
import type { Reason } from "./reason.ts";

/** A node as filters see it. The judge and questions like "what if" bring their own free amounts. */
export type FilterNode = Pick<NodeRecord, "node" | "free" | "graph"> & {
  readonly tasks: { readonly size: number };
};

/**
 * The answer of all filters for one node: fine; not now (an event can change it); never (only another
 * node, or a change of this one, can help).
 */
export type Verdict =
  | { readonly kind: "yes" }
  | { readonly kind: "not-now"; readonly reason: Reason }
  | { readonly kind: "never"; readonly reason: Reason };

/** Pure; looks at nothing but its arguments. */
export interface Question {
  readonly allows: (request: Request, node: FilterNode) => boolean;
  /** Asked only where `allows` is false. */
  readonly reason: (request: Request, node: FilterNode) => Reason;
  /** For the many, where `reason` takes long to find. */
  readonly briefReason?: () => Reason;
}

/**
 * One reason to reject nodes. All code that decides about nodes asks the whole chain (chain.ts), so
 * that a filter in its list applies everywhere. The declarations below only save calls: the planner asks
 * a filter without them about every node.
 */
export interface Filter {
  readonly name: string;
  /** Whether the node could ever take the task: follows from what the node offers, and its graph. */
  readonly ever?: Question;
  /**
   * Whether it could take the task now: follows from the node's row, its tasks and its graph. Where
   * the filter also asks `ever`, it allows nothing now that it never allows.
   */
  readonly now?: Question;
  /** `now` gives the same answer to all requests, and another one only when the node's row changes. */
  readonly nowFollowsRow?: true;
  /**
   * Requests with the same text get the same answers to `ever`: it is asked when a node comes to the
   * pool of such requests, and not for each placement.
   */
  readonly requestKey?: (request: Request) => string;
  /**
   * Nodes with the same text get the same answers to this request, and to those that ask for less of
   * the same: explanations ask one of them.
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
  /** Only nodes with this key can be allowed; undefined: the request asks for no such place. */
  readonly ofRequest: (request: Request) => string | undefined;
  readonly ofNode: (node: Node) => readonly string[];
}
