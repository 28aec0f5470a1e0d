import { isSchedulable, nodeStateName, stateReason } from "../../model/node/node.ts";
import type { Filter } from "./filter.ts";

/** Rejects nodes that are not ready: disconnected, lost, draining, unhealthy or quarantined. */
export const nodeReady: Filter = {
  name: "node-ready",
  now: {
    allows: (_, { node }) => isSchedulable(node),
    reason(_, { node, tasks }) {
      const state = nodeStateName(node, tasks.size);
      return { kind: "not-ready", state, why: stateReason(node, state) };
    },
  },
  nowFollowsRow: true,
  nodeKey:
    () =>
    ({ node, tasks }) => {
      const state = nodeStateName(node, tasks.size);
      const why = stateReason(node, state);
      // A quarantined node may take one task.
      const takes = isSchedulable(node) ? "takes" : "";
      return why === undefined ? `${state} ${takes}` : `${state} ${takes} ${why.length}:${why}`;
    },
};
