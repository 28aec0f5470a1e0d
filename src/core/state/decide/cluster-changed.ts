import type { ClusterId } from "../../model/ids.ts";
import type { Change } from "../change.ts";
import type { State } from "../state.ts";

/**
 * Something that is shown with the cluster changed: writes its row again, so that the cluster has the
 * new revision and its watchers are notified. Call it last, after all other changes.
 */
export function clusterChanged({ clusters }: State, id: ClusterId): Change[] {
  const row = clusters.get(id);
  return row === undefined ? [] : [{ table: "cluster", row: { ...row } }];
}
