import type { Scorer } from "./scorer.ts";
import { shareAfter } from "./share-after.ts";

/**
 * The emptiest node first: load is even, and a lost node costs little. Tasks that make no node fuller, as they take little of
 * what another task takes much of, go where the fewest are.
 */
export const spread: Scorer = {
  name: "spread",
  order: "emptiest-first",
  score: (request, record) => 1 - shareAfter(request, record),
  tie: ({ tasks }) => -tasks.size,
};
