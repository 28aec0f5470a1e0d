import { byStateKey } from "./state-key.ts";

/** The one that says it has the most power left. */
export const mostPower = byStateKey("most-power", "power", "largest-first");
