import { isShareRequest } from "../../model/job/energy.ts";
import type { Filter } from "./filter.ts";

/** Rejects nodes that represent the edges of a site, for tasks that are not shares: those go to the site's cluster. */
export const takesShares: Filter = {
  name: "takes-shares",
  ever: {
    allows: ({ needs }, { node }) => node.power?.site === undefined || isShareRequest(needs),
    reason: () => ({ kind: "shares-only" }),
  },
  requestKey: ({ needs }) => (isShareRequest(needs) ? "share" : ""),
  nodeKey:
    () =>
    ({ node }) =>
      node.power?.site === undefined ? "" : "site",
};
