import type { JobId } from "../../model/ids.ts";
import { LeftoverRows } from "../jobs/leftover-rows.ts";
import { leftoverKey, taskKey } from "../row-keys.ts";
import { idOf, type Removed, type Table, type Written } from "../table.ts";

/** Rows of the job's tasks stay when it is removed, and are deleted in later batches. */
export type LeftoverChange =
  | Written<"leftover", { readonly id: JobId }>
  | (Removed<"leftover", JobId> & {
      readonly indexes: readonly number[];
      readonly isLast: boolean;
    });

export const leftoverTable: Table<LeftoverChange, LeftoverRows> = {
  name: "leftover",
  isWatched: false,
  keyOf: (change) => leftoverKey(idOf(change)),
  encode(change, write) {
    if ("row" in change) write(leftoverKey(change.row.id), JSON.stringify(change.row));
    else {
      for (const index of change.indexes) write(taskKey(change.removed, index), undefined);
      if (change.isLast) write(leftoverKey(change.removed), undefined);
    }
  },
  decode: (_key, value) => ({ table: "leftover", row: JSON.parse(value) as { id: JobId } }),
  newRows: () => new LeftoverRows(),
  apply(state, change) {
    const { leftovers, jobs } = state;
    const id = idOf(change);
    if ("row" in change) leftovers.add(id, jobs.get(id)?.taskRowIndexes() ?? []);
    else if (change.isLast) leftovers.delete(id);
    else leftovers.drop(id, change.indexes.length);
  },
  isNewest: (state, change) => "removed" in change || state.leftovers.has(change.row.id),
  check: () => [],
  digest({ leftovers }) {
    const next = leftovers.next(Number.MAX_SAFE_INTEGER);
    return next && { ...next, indexes: next.indexes.toSorted((a, b) => a - b) };
  },
};
