import type { Power, PowerChange } from "../../../../core/model/node/power.ts";
import { toResources } from "../../../../core/model/resources.ts";
import type { Node } from "../../../../gen/busbar/v1/busbar_pb.ts";
import { limits } from "../../../../limits.ts";

/** The fields of a node below that its power depends on. */
export type EdgeBelow = Pick<Node, "state" | "power" | "capacity">;

/** Shares from above that have not ended, and how many of them are queued below. */
export interface SharesBelow {
  readonly active: number;
  readonly waiting: number;
}

const READY = "connected";
/** Number of future changes that the agent sends: enough to foresee the end of a share. */
const TOLD_CHANGES = 16;

interface Edge {
  readonly watts: number;
  /** It is disconnected or drained, and works on its assigned shares. */
  readonly isReady: boolean;
  readonly isFree: boolean;
  readonly node: EdgeBelow;
}

/**
 * The edges of a site as one node. While it would accept another share, its power is that of the free edges. If all edges are
 * busy it is 1 W, so that other sites come first and this one still gets shares where there are no others. While it would
 * accept none, its power is that of all edges: the server takes back the shares of a node without power.
 */
export function powerOfSite(nodes: readonly EdgeBelow[], shares: SharesBelow): Power {
  const edges = nodes.flatMap(toEdge);
  const free = edges.filter(({ isFree }) => isFree);
  const at = sharesAtOnce(free.length, shares);
  const isOpen = at > shares.active;
  const counted = isOpen ? free : edges;
  const hasPower = edges.length > 0;
  const watts = Math.min(limits.wattsMax, sumOf(counted));
  const tickMs = Math.max(0, ...counted.map(({ node }) => node.power?.tickMs ?? 0));
  const changes = changesOf(counted);
  const isBare = edges.some(({ node }) => node.power?.needsNoCommand === true);
  return {
    watts: hasPower ? Math.max(1, watts) : 0,
    ...(changes.length > 0 && hasPower && { changes }),
    ...(tickMs > 0 && { tickMs }),
    ...(isBare && { isBare: true as const }),
    site: {
      edges: Math.min(edges.length, limits.nodesMax),
      shares: at,
      capacity: largestOf(nodes.filter(({ power }) => power !== undefined)),
    },
  };
}

/**
 * One share, and one more for each that has begun, as long as edges are free and no share from above is queued below: only a share that has
 * begun shows whether it leaves edges free. So many small jobs soon have all edges, and no large job is below before its turn.
 */
export function sharesAtOnce(freeEdges: number, { active, waiting }: SharesBelow): number {
  const more = waiting > 0 ? 0 : Math.min(freeEdges, Math.max(1, active));
  return Math.min(limits.siteSharesMax, Math.max(1, active + more));
}

function toEdge(node: EdgeBelow): Edge[] {
  const { power, state } = node;
  const watts = Number(power?.watts ?? 0n);
  if (power === undefined || watts === 0) return [];
  const isReady = state === READY;
  if (!isReady && power.shares === 0) return [];
  const sharesMax = Math.max(1, power.sharesMax); // an older Busbar sends neither
  return [{ watts, isReady, isFree: isReady && power.shares < sharesMax, node }];
}

const sumOf = (edges: readonly Edge[]): number => edges.reduce((sum, { watts }) => sum + watts, 0);

/** The sum of the edges' power, at each time at which one of them changes. */
function changesOf(edges: readonly Edge[]): readonly PowerChange[] {
  const steps = edges.flatMap(({ node, watts }) => {
    let before = watts;
    return (node.power?.changes ?? []).map((change) => {
      const by = Number(change.watts) - before;
      before = Number(change.watts);
      return { atMs: Number(change.atMs), by };
    });
  });
  steps.sort((a, b) => a.atMs - b.atMs);
  const changes: { atMs: number; watts: number }[] = [];
  let sum = sumOf(edges);
  for (const { atMs, by } of steps) {
    sum += by;
    const last = changes.at(-1);
    const watts = Math.min(limits.wattsMax, Math.max(0, sum));
    if (last?.atMs === atMs) last.watts = watts;
    else if (changes.length < TOLD_CHANGES) changes.push({ atMs, watts });
    else break;
  }
  return changes;
}

/** By resource: a share that requests more than this fits on none of them. */
function largestOf(edges: readonly EdgeBelow[]): Readonly<Record<string, number>> {
  const largest: Record<string, number> = {};
  for (const { capacity } of edges) {
    const amounts = toResources(capacity, "amounts", limits.resourceNamesMax);
    for (const [name, amount] of Object.entries(amounts)) {
      largest[name] = Math.min(limits.siteAmountMax, Math.max(largest[name] ?? 0, amount));
    }
  }
  return Object.fromEntries(Object.entries(largest).slice(0, limits.resourceNamesMax));
}
