import { graphRequest } from "../../graph/graph-request.ts";
import type { Filter } from "./filter.ts";
import { YES } from "./filter.ts";

/** Rejects nodes that have not what is asked of a graph: parts that are large enough, software. */
export const graphMatches: Filter = {
  name: "graph-matches",
  check({ request }, record) {
    if (request === undefined) return YES;
    const asked = graphRequest(request);
    if (record.graph.waysFor(asked).length > 0) return YES;
    return { kind: "never", reason: record.graph.refusals(asked).join("; or ") };
  },
};
