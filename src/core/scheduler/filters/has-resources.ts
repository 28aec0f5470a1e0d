import type { Resources } from "../../model/resources.ts";
import type { Filter } from "./filter.ts";
import { tooSmall } from "./resources-fit.ts";

/** Resources that not every node has: a gpu, a licence. */
export const rareNames = (amounts: Resources): string[] =>
  Object.keys(amounts)
    .filter((name) => name !== "cpu" && name !== "memory")
    .sort();

/**
 * Rejects nodes that have nothing of a rare resource: most nodes, which then need no comparison of
 * amounts. Graph requests are the subject of another filter.
 */
export const hasResources: Filter = {
  name: "has-resources",
  ever: {
    allows({ needs, request }, { node }) {
      if (request !== undefined) return true;
      for (const name in needs) {
        const isRare = name !== "cpu" && name !== "memory";
        if (isRare && !((node.capacity[name] ?? 0) > 0)) return false;
      }
      return true;
    },
    reason: tooSmall,
  },
  requestKey: ({ needs, request }) => (request === undefined ? rareNames(needs).join(",") : ""),
  nodeKey: () => () => "", // see resources-fit
  place: {
    width: 3,
    ofRequest({ needs, request }) {
      const [rare] = request === undefined ? rareNames(needs) : [];
      return rare === undefined ? undefined : `has ${rare}`;
    },
    ofNode: ({ capacity }) => rareNames(capacity).map((name) => `has ${name}`),
  },
};
