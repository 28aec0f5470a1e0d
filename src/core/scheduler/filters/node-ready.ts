import { isSchedulable, nodeStateName } from "../../model/node.ts";
import type { Filter } from "./filter.ts";
import { YES } from "./filter.ts";

/** Rejects nodes that take no tasks now: disconnected, lost or draining. */
export const nodeReady: Filter = {
  name: "node-ready",
  check(_request, { node, tasks }) {
    if (isSchedulable(node)) return YES;
    return { kind: "not-now", reason: nodeStateName(node, tasks.size) };
  },
};
