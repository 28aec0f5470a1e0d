import type { DoorRecord } from "../../model/door-record.ts";
import { idOf, oneRow, type Removed, type Table, type Written } from "../table.ts";

export type DoorRecordChange = Written<"door", DoorRecord> | Removed<"door", string>;

/** By id. There are no watchers: a door reads its own records when it starts. */
export const doorRecordTable: Table<DoorRecordChange, Map<string, DoorRecord>> = {
  name: "door",
  isWatched: false,
  ...oneRow((change) => `door/${idOf(change)}`),
  decode: (_key, value) => ({ table: "door", row: JSON.parse(value) as DoorRecord }),
  newRows: () => new Map(),
  apply({ doorRecords }, change) {
    if ("removed" in change) doorRecords.delete(change.removed);
    else doorRecords.set(change.row.id, change.row);
  },
  isNewest({ doorRecords }, change) {
    if ("removed" in change) return !doorRecords.has(change.removed);
    return doorRecords.get(change.row.id) === change.row;
  },
  check: () => [],
  digest: ({ doorRecords }) => [...doorRecords.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
};
