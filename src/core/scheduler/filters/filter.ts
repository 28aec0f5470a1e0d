import type { NodeRecord } from "../../state/nodes/node-record.ts";
import type { Request } from "../request.ts";

/**
 * What a filter says of one node: fine; not now (an event can change it); never (only another
 * node, or a change of this one, can help). Reasons read well after "3 nodes: ".
 */
export type Verdict =
  | { readonly kind: "yes" }
  | { readonly kind: "not-now"; readonly reason: string }
  | { readonly kind: "never"; readonly reason: string };

export const YES: Verdict = { kind: "yes" };

/** One reason to refuse a node. Pure; looks at nothing but its arguments. */
export interface Filter {
  readonly name: string;
  check(request: Request, record: NodeRecord): Verdict;
}
