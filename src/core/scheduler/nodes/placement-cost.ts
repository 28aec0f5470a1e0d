import { graphRequest } from "../../graph/request/graph-request.ts";
import type { Resources } from "../../model/resources.ts";
import { fits } from "../../model/resources.ts";
import type { FilterNode } from "../filters/filter.ts";
import type { Request } from "../request.ts";

/** A node with its actual or assumed free capacity. */
export type NodeCapacity = Pick<FilterNode, "node" | "free" | "graph">;

/** The resources of the node that a task of this request would take if it were placed there now. */
export function takesNow({ needs, request }: Request, record: NodeCapacity): Resources | undefined {
  if (request === undefined) return fits(needs, record.free) ? needs : undefined;
  const way = wayNow(request, record);
  return way === undefined ? undefined : (way.takes ?? record.node.capacity);
}

/** The position in the order of preference of the alternative that the node could serve now; 0 is best. */
export function preferenceNow({ request }: Request, record: NodeCapacity): number {
  return request === undefined ? 0 : (wayNow(request, record)?.alternative ?? 0);
}

const wayNow = (request: NonNullable<Request["request"]>, { graph, node, free }: NodeCapacity) =>
  graph.waysFor(graphRequest(request)).find(({ takes }) => fits(takes ?? node.capacity, free));
