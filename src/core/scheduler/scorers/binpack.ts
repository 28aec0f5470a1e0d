import type { Scorer } from "./scorer.ts";
import { shareAfter } from "./share-after.ts";

/** The fullest node that fits: large tasks find room, and idle nodes can be switched off. */
export const binpack: Scorer = {
  name: "binpack",
  order: "fullest-first",
  score: shareAfter,
};
