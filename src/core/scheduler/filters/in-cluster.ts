import type { Filter } from "./filter.ts";

export const clusterKey = (cluster: string): string => `cluster ${cluster}`;

/** Rejects nodes outside the requested cluster. */
export const inCluster: Filter = {
  name: "in-cluster",
  ever: {
    allows: ({ where }, { node }) => where.cluster === undefined || where.cluster === node.cluster,
    reason: ({ where }) => ({ kind: "other-cluster", asked: where.cluster ?? "" }),
  },
  requestKey: ({ where }) => where.cluster ?? "",
  nodeKey:
    () =>
    ({ node }) =>
      node.cluster,
  place: {
    width: 4,
    ofRequest: ({ where }) => (where.cluster === undefined ? undefined : clusterKey(where.cluster)),
    ofNode: ({ cluster }) => [clusterKey(cluster)],
  },
};
