import type { Scorer } from "./scorer.ts";
import { shareAfter } from "./share-after.ts";

/**
 * Prefers the fullest node that fits: this leaves capacity for large tasks, and idle nodes can be
 * switched off.
 */
export const binpack: Scorer = {
  name: "binpack",
  order: "fullest-first",
  score: shareAfter,
};
