import type { Filter } from "./filter.ts";

/** Rejects agents of pull clusters, and every node when the request is for pull clusters only. */
export const managedNode: Filter = {
  name: "managed-node",
  ever: {
    allows: ({ where }, { node }) => node.clusterAgent === undefined && where.kind !== "pulling",
    reason: (_, { node }) =>
      node.clusterAgent === undefined ? { kind: "pull-clusters-only" } : { kind: "cluster-agent" },
  },
  requestKey: ({ where }) => (where.kind === "pulling" ? "pulling" : ""),
  nodeKey:
    () =>
    ({ node }) =>
      node.clusterAgent === undefined ? "" : "agent",
};
