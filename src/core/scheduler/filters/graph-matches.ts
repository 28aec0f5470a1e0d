import { graphRequest } from "../../graph/request/graph-request.ts";
import type { NodeRecord } from "../../state/nodes/node-record.ts";
import type { Request } from "../request.ts";
import type { Filter } from "./filter.ts";
import { YES } from "./filter.ts";

/**
 * Whether the node has what is asked of its graph. Why not takes much longer to find out. The graph
 * is made when it is first looked at: not here, when nothing is asked of it.
 */
export const hasGraphFor = (
  { request }: Pick<Request, "request">,
  record: Pick<NodeRecord, "graph">,
): boolean => request === undefined || record.graph.waysFor(graphRequest(request)).length > 0;

/** Rejects nodes that have not what is asked of a graph: parts that are large enough, software. */
export const graphMatches: Filter = {
  name: "graph-matches",
  check({ request }, record) {
    if (request === undefined || hasGraphFor({ request }, record)) return YES;
    const refusals = record.graph.refusals(graphRequest(request));
    return { kind: "never", reason: refusals.join("; or ") };
  },
};
