import type { Strategy } from "./strategy.ts";

/** The first in the order in which whoever asks lists them. */
export const first: Strategy = {
  name: "first",
  prepare: () => (candidates) => ({ ranked: candidates, dropped: [] }),
};
