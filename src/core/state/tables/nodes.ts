import type { NodeId } from "../../model/ids.ts";
import type { Node } from "../../model/node/node.ts";
import {
  checkDisconnected,
  checkNodes,
  checkNodeTotals,
  checkQuarantined,
} from "../checks/nodes.ts";
import { checkFleet } from "../checks/queue.ts";
import { putNode, removeNode } from "../effects.ts";
import type { NodeRecord } from "../../scheduler/nodes/node-record.ts";
import { idOf, oneRow, type Removed, type WatchedTable, type Written } from "../table.ts";

export type NodeChange = Written<"node", Node> | Removed<"node", NodeId>;

/** JSON leaves out undefined. Restores optional fields, so that equal rows compare as equal. */
const decodeNode = (stored: Node): Node => ({
  ...stored,
  drain: stored.drain,
  ...(stored.clusterAgent === undefined
    ? {}
    : { clusterAgent: { ...stored.clusterAgent, leaseMs: stored.clusterAgent.leaseMs } }),
});

export const nodeTable: WatchedTable<NodeChange, Map<NodeId, NodeRecord>> = {
  name: "node",
  isWatched: true,
  ...oneRow((change) => `node/${idOf(change)}`),
  decode: (_key, value) => ({ table: "node", row: decodeNode(JSON.parse(value) as Node) }),
  newRows: () => new Map(),
  apply(state, change) {
    if ("removed" in change) removeNode(state, change.removed);
    else putNode(state, change.row);
  },
  isNewest(state, change) {
    if ("removed" in change) return !state.nodes.has(change.removed);
    return state.nodes.get(change.row.id)?.node === change.row;
  },
  check: (state, jobs) => [
    ...checkNodes(state, jobs),
    ...checkNodeTotals(state),
    ...checkQuarantined(state),
    ...checkDisconnected(state),
    ...checkFleet(state),
  ],
  digest: ({ nodes }) =>
    [...nodes.values()]
      .map(({ node, revision, used, free, tasks }) => ({
        node,
        revision,
        used: { ...used },
        // The agent of a cluster has no free capacity of its own.
        free: node.clusterAgent === undefined ? { ...free } : undefined,
        tasks: tasks.size,
      }))
      .sort((a, b) => (a.node.id < b.node.id ? -1 : 1)),
};
