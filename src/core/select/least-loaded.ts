import { rankBy } from "./strategy.ts";

/** The cluster with the fewest jobs that have not ended; of equal ones the emptiest. */
export const leastLoaded = rankBy("least-loaded", ({ jobs, usedShare }) => [jobs, usedShare]);
