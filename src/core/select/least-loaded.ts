import { rankBy } from "./strategy.ts";

/** The one with the fewest jobs that have not ended; of these the emptiest. */
export const leastLoaded = rankBy("least-loaded", ({ jobs, usedShare }) => [jobs, usedShare]);
