import type { SeededNumbers } from "../../../lib/seeded-numbers.ts";
import type { NodeRecord } from "./node-record.ts";
import { Best, Drawn, LONGEST_AGO } from "../choice.ts";
import { goesBefore, type NodeEntry } from "./node-order.ts";
import type { NodeLevels } from "./node-levels.ts";
import type { Request } from "../request.ts";
import { preferenceNow } from "./placement-cost.ts";

/**
 * The node with free capacity whose last assignment is longest ago. Where some serve the request better than
 * others, compares the first `candidatesMax` such nodes of each level.
 */
export function longestAgo(
  nodes: NodeLevels,
  request: Request,
  candidatesMax: number,
): NodeRecord | undefined {
  const best = new Best(request, LONGEST_AGO);
  let first: NodeEntry | undefined; // among those that serve the most preferred alternative
  for (const entries of nodes.orderBy("turn").from(nodes.lowestFor(request))) {
    const offersMax = best.offered + candidatesMax;
    for (const entry of entries) {
      if (best.offered >= offersMax || (first !== undefined && goesBefore(first, entry))) break;
      if (!nodes.fits(request, entry.record)) continue;
      best.offer(entry.record);
      if (best.record === entry.record && best.preference === 0) first = entry;
    }
  }
  return best.record;
}

/**
 * A random node with free capacity, all equally likely: drawn from all nodes until one has capacity, or, where few
 * have, from those. Where some serve the request better than others, the best drawn one.
 */
export function drawn(
  nodes: NodeLevels,
  request: Request,
  numbers: SeededNumbers,
  drawsMax: number,
): NodeRecord | undefined {
  const found = drawnOfAll(nodes, request, numbers, drawsMax);
  if (found !== undefined) return found;
  const choice = new Drawn(request, numbers);
  for (const record of nodes.allFitting(request, Infinity) ?? []) choice.offer(record);
  return choice.record;
}

function drawnOfAll(
  nodes: NodeLevels,
  request: Request,
  numbers: SeededNumbers,
  drawsMax: number,
): NodeRecord | undefined {
  const order = nodes.orderBy("name");
  const lowest = nodes.lowestFor(request);
  const count = order.countFrom(lowest);
  let found: NodeRecord | undefined;
  let foundPreference = Infinity;
  if (count <= drawsMax) return undefined; // so few are checked one by one
  for (let draw = 0; draw < drawsMax && foundPreference > 0; draw++) {
    const record = order.nthFrom(lowest, Math.floor(numbers.fraction() * count));
    if (record === undefined || !nodes.fits(request, record)) continue;
    const preference = preferenceNow(request, record);
    if (preference >= foundPreference) continue;
    found = record;
    foundPreference = preference;
  }
  return found;
}
