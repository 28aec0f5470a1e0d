import { graphRequest } from "../../graph/request/graph-request.ts";
import { isShareRequest } from "../../model/job/energy.ts";
import type { Node } from "../../model/node/node.ts";
import { offeredToOne } from "../../model/node/power.ts";
import { fits, NO_RESOURCES, shortage, type Resources } from "../../model/resources.ts";
import { takesNow } from "../nodes/placement-cost.ts";
import type { Request } from "../request.ts";
import type { Filter, FilterNode } from "./filter.ts";
import type { Reason } from "./reason.ts";

/** Rejects nodes without enough free capacity. Never: even the empty node is too small. */
export const resourcesFit: Filter = {
  name: "resources-fit",
  ever: {
    allows(request, view) {
      const least = leastOn(request, view);
      return least === undefined || fits(least, offeredToOne(view.node));
    },
    reason: tooSmall,
  },
  now: {
    allows: (request, view) =>
      takesNow(request, view) !== undefined &&
      !isPowerless(request, view.node) &&
      !isBeyondEdges(request, view.node),
    reason(request, view) {
      if (isBeyondEdges(request, view.node)) return tooSmall(request, view);
      if (takesNow(request, view) !== undefined) return { kind: "no-power" };
      const least = leastOn(request, view) ?? NO_RESOURCES;
      const resource = shortage(least, view.free) ?? "";
      const free = Math.max(0, view.free[resource] ?? 0);
      return { kind: "busy", resource, free, asked: least[resource] ?? 0 };
    },
  },
  nodeKey({ needs, request }) {
    const names = Object.keys(needs);
    const isShare = isShareRequest(needs);
    return ({ node, free }) => {
      const { capacity } = node;
      let key = "";
      if (request === undefined) {
        for (const name of names) key += ` ${capacity[name]} ${free[name]}`;
        if (node.power?.site !== undefined) key += ` of ${node.power.site.shares}`;
        return isShare ? `${key} ${node.power?.watts === 0}` : key;
      }
      // An alternative may take any of the node's resources.
      for (const name in free) key += ` ${name} ${capacity[name]} ${free[name]}`;
      return key;
    };
  },
  // A graph request may take less of one node than of another.
  leastFree: ({ needs, request }) => (request === undefined ? needs : NO_RESOURCES),
};

/**
 * The amounts that must be free: those of the first alternative that fits the empty node; undefined:
 * none does.
 */
function leastOn({ needs, request }: Request, view: FilterNode): Resources | undefined {
  if (request === undefined) return needs;
  const { capacity } = view.node;
  const ways = view.graph.waysFor(graphRequest(request)).map(({ takes }) => takes ?? capacity);
  return ways.find((takes) => fits(takes, capacity)) ?? ways[0];
}

export function tooSmall(request: Request, view: FilterNode): Reason {
  const least = leastOn(request, view) ?? NO_RESOURCES;
  const capacity = offeredToOne(view.node);
  const resource = shortage(least, capacity) ?? "";
  const has = Math.max(0, capacity[resource] ?? 0);
  return { kind: "too-small", resource, has, asked: least[resource] ?? 0 };
}

/** It would fit into the sum of several shares of a site, but fits no single edge of the site. */
const isBeyondEdges = ({ needs }: Request, node: Node): boolean =>
  node.power?.site !== undefined && !fits(needs, offeredToOne(node));

/** It can hold a share, but has no power for it now. */
const isPowerless = ({ needs }: Request, { power }: Node): boolean =>
  power?.watts === 0 && isShareRequest(needs);
