import { rankBy } from "./strategy.ts";

/** The fullest cluster with free capacity: large jobs find an empty cluster, idle clusters can be stopped. */
export const binpack = rankBy("binpack", ({ usedShare, slots }) => [
  usedShare === undefined ? undefined : -usedShare,
  slots,
]);
