import { doneOf } from "../../model/job/task.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import type { FilterChain } from "../filters/chain.ts";
import type { Request } from "../request.ts";
import { endOfShare, energyUntil, firstMs, type PowerEdge } from "./edge-energy.ts";

/** What an estimate looks at. */
export interface EdgesView {
  readonly nodes: { values(): Iterable<NodeRecord> };
  readonly filters: FilterChain;
}

/**
 * When so much energy would be used if all nodes that could take a share of it worked at it alone, each after what it works at
 * now, with the power that they have and expect. Undefined: none has any, or it takes for ever.
 */
export function foreseenEnd(
  { nodes, filters }: EdgesView,
  request: Request,
  energy: number,
  nowMs: number,
): number | undefined {
  const edges: PowerEdge[] = [];
  for (const record of nodes.values()) {
    const { power } = record.node;
    if (power === undefined || !filters.takesTasks(record)) continue;
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
