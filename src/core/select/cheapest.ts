import { byStateKey } from "./state-key.ts";

/** The cluster with the lowest reported cost. */
export const cheapest = byStateKey("cheapest", "cost_per_node_hour", "smallest-first");
