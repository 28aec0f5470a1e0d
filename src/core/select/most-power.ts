import { byStateKey } from "./state-key.ts";

/** The cluster with the most reported power. */
export const mostPower = byStateKey("most-power", "power", "largest-first");
