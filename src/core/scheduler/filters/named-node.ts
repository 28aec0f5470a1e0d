import type { Filter } from "./filter.ts";

/** Rejects all nodes but the requested one. */
export const namedNode: Filter = {
  name: "named-node",
  ever: {
    allows: ({ where }, { node }) => where.node === undefined || where.node === node.id,
    reason: ({ where }) => ({ kind: "other-node", asked: where.node ?? "" }),
  },
  requestKey: ({ where }) => where.node ?? "",
  nodeKey:
    ({ where }) =>
    ({ node }) =>
      node.id === where.node ? "named" : "",
  place: {
    width: 1,
    ofRequest: ({ where }) => (where.node === undefined ? undefined : `node ${where.node}`),
    ofNode: ({ id }) => [`node ${id}`],
  },
};
