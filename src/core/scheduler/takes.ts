import { graphRequest } from "../graph/graph-request.ts";
import type { Resources } from "../model/resources.ts";
import { fits } from "../model/resources.ts";
import type { NodeRecord } from "../state/node-record.ts";
import type { Request } from "./request.ts";

/** A node with what is free on it, or would be. */
export type Room = Pick<NodeRecord, "node" | "free" | "graph">;

/** What a task of this request would take of the node if it were placed there now. */
export function takesNow({ needs, request }: Request, record: Room): Resources | undefined {
  if (request === undefined) return fits(needs, record.free) ? needs : undefined;
  return record.graph
    .waysFor(graphRequest(request))
    .map(({ takes }) => takes ?? record.node.capacity)
    .find((takes) => fits(takes, record.free));
}
