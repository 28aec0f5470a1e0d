import { graphRequest } from "../../graph/request/graph-request.ts";
import { formatAmount, shortage } from "../../model/resources.ts";
import type { Resources } from "../../model/resources.ts";
import type { NodeRecord } from "../../state/nodes/node-record.ts";
import type { Request } from "../request.ts";
import { takesNow } from "../nodes/placement-cost.ts";
import type { Filter } from "./filter.ts";
import { YES } from "./filter.ts";

/** Rejects nodes without room. Says `never` when even the empty node is too small. */
export const resourcesFit: Filter = {
  name: "resources-fit",
  check(request, record) {
    const { node, free } = record;
    if (takesNow(request, record) !== undefined) return YES;
    const needs = leastOn(request, record);
    if (needs === undefined) return YES; // what it can never have is for another filter to say
    const small = shortage(needs, node.capacity);
    if (small !== undefined) {
      return { kind: "never", reason: `too small: ${compare(small, needs, node.capacity, "has")}` };
    }
    const busy = shortage(needs, free) ?? "";
    return { kind: "not-now", reason: `busy: ${compare(busy, needs, free, "free")}` };
  },
};

/** What must be free: of several ways the first that is preferred. */
function leastOn({ needs, request }: Request, record: NodeRecord): Resources | undefined {
  if (request === undefined) return needs;
  const [way] = record.graph.waysFor(graphRequest(request));
  return way === undefined ? undefined : (way.takes ?? record.node.capacity);
}

function compare(name: string, needs: Resources, there: Resources, word: "has" | "free"): string {
  const asked = formatAmount(name, needs[name] ?? 0);
  const amount = formatAmount(name, Math.max(0, there[name] ?? 0));
  return word === "has" ? `has ${amount}, ${asked} asked` : `${amount} free, ${asked} asked`;
}
