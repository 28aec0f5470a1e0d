import { isEnded, type Task } from "../../model/job/task.ts";
import { checkAcceptedTasks } from "../checks/accepted-tasks.ts";
import { endFolded, putTask } from "../effects.ts";
import { decodeTask, encodeTask } from "../jobs/task-codec.ts";
import { taskKey } from "../row-keys.ts";
import { oneRow, type WatchedTable, type Written } from "../table.ts";

/** Rows of tasks are removed with their job, or as leftovers of it. */
export type TaskChange = Written<"task", Task>;

/** A task has a row when it differs from "pending, never placed"; its job's record holds it. */
export const taskTable: WatchedTable<TaskChange> = {
  name: "task",
  isWatched: true,
  ...oneRow(({ row }) => taskKey(row.jobId, row.index), encodeTask),
  decode: (_key, value) => ({ table: "task", row: decodeTask(value) }),
  newRows: () => undefined,
  apply: (state, { row }) => putTask(state, row),
  loader: (state) => (key, value) => {
    if (state.leftovers.skips(key)) return;
    const row = decodeTask(value);
    if (!endFolded(state, row)) putTask(state, row);
  },
  isNewest(state, { row }) {
    // Only the removal of its job follows the end of a task.
    if (isEnded(row.state)) return state.jobs.has(row.jobId);
    return state.task(row) === row;
  },
  check: checkAcceptedTasks,
  digest: (_state, jobs) =>
    jobs.map(({ rows, revisions }) => ({
      rows: rows.toSorted((a, b) => a.index - b.index),
      revisions: revisions.toSorted((a, b) => a - b),
    })),
};
