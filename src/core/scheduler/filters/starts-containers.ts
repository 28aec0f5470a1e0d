import type { Filter } from "./filter.ts";

/** Rejects nodes whose agent cannot start containers, for tasks that run in some. */
export const startsContainers: Filter = {
  name: "starts-containers",
  ever: {
    // The graph is made when it is first looked at: not here, when no container is asked for.
    allows: ({ where }, view) =>
      where.containers === undefined || view.graph.whyNoContainers === undefined,
    reason: (_, { graph }) => ({ kind: "no-containers", why: graph.whyNoContainers ?? "" }),
  },
  requestKey: ({ where }) => (where.containers === undefined ? "" : "containers"),
  nodeKey: ({ where }) =>
    where.containers === undefined ? () => "" : ({ graph }) => graph.whyNoContainers ?? "can",
};
