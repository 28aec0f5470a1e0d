import type { ClusterId } from "../../model/ids.ts";
import type { Change } from "../change.ts";
import type { State } from "../state.ts";

/**
 * Something that is shown with the cluster changes: its row is written again, so that the cluster
 * has the revision of that, and its watchers hear of it. Last, when all else is in place.
 */
export function clusterChanged({ clusters }: State, id: ClusterId): Change[] {
  const row = clusters.get(id);
  return row === undefined ? [] : [{ table: "cluster", row: { ...row } }];
}
