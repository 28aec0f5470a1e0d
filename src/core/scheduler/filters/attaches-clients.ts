import type { Filter } from "./filter.ts";

/** For tasks with a client: rejects nodes whose agent cannot pass a client's input on. */
export const attachesClients: Filter = {
  name: "attaches-clients",
  ever: {
    allows: ({ where }, { node }) => where.attach === undefined || node.canAttach === true,
    reason: () => ({ kind: "no-attach" }),
  },
  requestKey: ({ where }) => (where.attach === undefined ? "" : "attach"),
  nodeKey: ({ where }) =>
    where.attach === undefined ? () => "" : ({ node }) => (node.canAttach === true ? "can" : ""),
};
