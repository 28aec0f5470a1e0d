import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import { freshGroup, type Group } from "../../model/group.ts";
import type { GroupId } from "../../model/ids.ts";
import { checkGroups, checkTotals } from "../checks/groups.ts";
import { checkGroupOrder } from "../checks/queue.ts";
import { putGroup } from "../effects.ts";
import type { GroupRecord } from "../../scheduler/queue/group-record.ts";
import { idOf, oneRow, type Removed, type WatchedTable, type Written } from "../table.ts";

export type GroupChange = Written<"group", Group> | Removed<"group", GroupId>;

const decodeGroup = (stored: Partial<Group>): Group => ({
  ...(stored as Group),
  runningTasksMax: stored.runningTasksMax,
  queuedTasksMax: stored.queuedTasksMax,
});

/** A group that was never written has a record as soon as a job names it. */
export const groupTable: WatchedTable<GroupChange, Map<GroupId, GroupRecord>> = {
  name: "group",
  isWatched: true,
  ...oneRow((change) => `group/${idOf(change)}`),
  decode: (_key, value) => ({
    table: "group",
    row: decodeGroup(JSON.parse(value) as Partial<Group>),
  }),
  newRows: () => new Map(),
  apply(state, change) {
    if ("removed" in change) state.groups.delete(change.removed);
    else putGroup(state, change.row);
  },
  isNewest(state, change) {
    if ("removed" in change) return !state.groups.has(change.removed);
    return state.groups.get(change.row.id)?.group === change.row;
  },
  check: (state, jobs) => [
    ...checkGroups(state, jobs),
    ...checkTotals(state),
    ...checkGroupOrder(state),
  ],
  digest: ({ groups, totals }) => ({
    // A group that was never written counts as none.
    rows: [...groups.values()]
      .filter(({ group }) => !isDeepEqual(group, freshGroup(group.id)))
      .map(({ group, revision }) => ({ group, revision }))
      .sort((a, b) => (a.group.id < b.group.id ? -1 : 1)),
    totals,
  }),
};
