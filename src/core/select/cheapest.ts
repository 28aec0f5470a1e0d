import { byStateKey } from "./state-key.ts";

/** The one that says it costs least. */
export const cheapest = byStateKey("cheapest", "cost_per_node_hour", "smallest-first");
