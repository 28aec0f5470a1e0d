import { rankBy } from "./strategy.ts";

/** The emptiest cluster: load is even, and a lost cluster costs little. */
export const spread = rankBy("spread", ({ usedShare, jobs }) => [usedShare, jobs]);
