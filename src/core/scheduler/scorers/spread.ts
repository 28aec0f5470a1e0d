import type { Scorer } from "./scorer.ts";
import { shareAfter } from "./share-after.ts";

/**
 * Prefers the emptiest node: load is even, and a lost node costs little. A task that makes no node fuller, because another resource is the
 * scarce one, goes to the node with the fewest tasks.
 */
export const spread: Scorer = {
  name: "spread",
  order: "emptiest-first",
  score: (request, record) => 1 - shareAfter(request, record),
  tie: ({ tasks }) => -tasks.size,
};
