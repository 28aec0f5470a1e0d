import { doneOf } from "../../model/job/task.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import type { FilterChain } from "../filters/chain.ts";
import type { Request } from "../request.ts";
import { endOfShare, energyUntil, firstMs, type PowerEdge } from "./edge-energy.ts";

/** The input of an estimate. */
export interface EdgesView {
  readonly nodes: { values(): Iterable<NodeRecord> };
  readonly filters: FilterChain;
}

/**
 * The time at which so much energy would be used if all nodes that can take a share worked on it alone, each after its present share, with
 * their present and expected power. Undefined: no node has power, or it never ends.
 */
export function estimatedEnd(
  { nodes, filters }: EdgesView,
  request: Request,
  energy: number,
  nowMs: number,
): number | undefined {
  const edges: PowerEdge[] = [];
  for (const record of nodes.values()) {
    const { power } = record.node;
    if (power === undefined || !filters.isReady(record)) continue;
    if (filters.everAllows(request, record)) edges.push(edgeOf(record, nowMs));
  }
  return firstMs(nowMs, (ms) => {
    let sum = 0;
    for (const edge of edges) sum += energyUntil(edge, nowMs, ms);
    return sum >= energy;
  });
}

function edgeOf({ node, tasks }: NodeRecord, nowMs: number): PowerEdge {
  const { watts = 0, changes, tickMs } = node.power ?? {};
  for (const task of tasks) {
    if (task.share === undefined) continue;
    const left = task.share - doneOf(task);
    const freeAtMs = endOfShare({ watts, changes, tickMs }, nowMs, left);
    return { watts, changes, tickMs, freeAtMs };
  }
  return { watts, changes, tickMs };
}
