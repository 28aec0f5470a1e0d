import { limits } from "../../../limits.ts";
import { graphRequest } from "../../graph/request/graph-request.ts";
import type { NodeGraph } from "../nodes/node-graphs.ts";
import type { Filter } from "./filter.ts";

/** Rejects nodes whose graph does not satisfy the request: parts that are large enough, software. */
export const graphMatches: Filter = {
  name: "graph-matches",
  ever: {
    // Without a graph request it does not read the graph, which is made on first use.
    allows: ({ request }, view) =>
      request === undefined || view.graph.waysFor(graphRequest(request)).length > 0,
    reason: ({ request }, { graph }) => ({
      kind: "graph",
      refusals: request === undefined ? [] : graph.refusals(graphRequest(request)),
    }),
    briefReason: () => ({ kind: "graph-unexplained", explainedMax: limits.classesExplainedMax }),
  },
  requestKey: ({ request }) => (request === undefined ? "" : graphRequest(request).key),
  nodeKey({ request }) {
    if (request === undefined) return () => "";
    const numbers = new Map<NodeGraph, number>();
    return ({ graph }) => {
      let number = numbers.get(graph);
      if (number === undefined) numbers.set(graph, (number = numbers.size));
      return String(number);
    };
  },
};
