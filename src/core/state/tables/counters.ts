import { type JobId, jobId } from "../../model/ids.ts";
import { oneRow, type Table, type Written } from "../table.ts";

/** Numbers that are never issued again, even after their objects are removed. */
export interface Counter {
  readonly lastJobId: JobId;
}

export type CounterChange = Written<"counter", Counter>;

/** One row. */
export const counterTable: Table<CounterChange, { row: Counter }> = {
  name: "counter",
  isWatched: false,
  ...oneRow(() => "counter/jobs"),
  decode: (_key, value) => ({ table: "counter", row: JSON.parse(value) as Counter }),
  newRows: () => ({ row: { lastJobId: jobId(0) } }),
  apply(state, { row }) {
    state.rows(counterTable).row = row;
  },
  isNewest: (state, { row }) => state.counter === row,
  check: () => [],
  digest: (state) => state.counter,
};
