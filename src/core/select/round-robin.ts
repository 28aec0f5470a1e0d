import { byName, type Strategy } from "./strategy.ts";

/** One after the other, by name. */
export const roundRobin: Strategy = {
  name: "round-robin",
  prepare:
    () =>
    (candidates, { turn }) => {
      const inOrder = byName(candidates);
      const at = inOrder.length === 0 ? 0 : turn % inOrder.length;
      return { ranked: [...inOrder.slice(at), ...inOrder.slice(0, at)], dropped: [] };
    },
};
