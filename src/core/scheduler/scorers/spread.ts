import type { Scorer } from "./scorer.ts";
import { shareAfter } from "./share-after.ts";

/** The emptiest node first: load is even, and a lost node costs little. */
export const spread: Scorer = {
  name: "spread",
  order: "most-free-first",
  score: (request, record) => 1 - shareAfter(request, record),
};
