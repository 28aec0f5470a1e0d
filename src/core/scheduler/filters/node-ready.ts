import { isSchedulable, nodeStateName, stateReason } from "../../model/node/node.ts";
import type { Filter } from "./filter.ts";
import { YES } from "./filter.ts";

/** Rejects nodes that take no tasks now: disconnected, lost, draining, unhealthy or quarantined. */
export const nodeReady: Filter = {
  name: "node-ready",
  check(_request, { node, tasks }) {
    if (isSchedulable(node)) return YES;
    const state = nodeStateName(node, tasks.size);
    const why = stateReason(node, state);
    return { kind: "not-now", reason: why === undefined ? state : `${state}: ${why}` };
  },
};
