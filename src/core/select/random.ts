import { byName, type Strategy } from "./strategy.ts";

/** A random cluster, all equally likely. */
export const random: Strategy = {
  name: "random",
  prepare: () => (candidates, context) => {
    const ranked = [...byName(candidates)];
    const at = Math.min(ranked.length - 1, Math.floor(context.random() * ranked.length));
    const chosen = ranked.splice(at, 1);
    return { ranked: [...chosen, ...ranked], dropped: [] };
  },
};
