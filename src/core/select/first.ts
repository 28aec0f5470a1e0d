import type { Strategy } from "./strategy.ts";

/** The first in the order of the caller's list. */
export const first: Strategy = {
  name: "first",
  prepare: () => (candidates) => ({ ranked: candidates, dropped: [] }),
};
