import { rankBy } from "./strategy.ts";

/** The fullest that still has room: large jobs find an empty cluster, idle ones can be stopped. */
export const binpack = rankBy("binpack", ({ usedShare, slots }) => [
  usedShare === undefined ? undefined : -usedShare,
  slots,
]);
