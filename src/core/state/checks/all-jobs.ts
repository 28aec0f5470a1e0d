import type { Task } from "../../model/job/task.ts";
import type { JobRecord } from "../jobs/job-record.ts";
import type { State } from "../state.ts";

/** In the order of their ids. */
export function* allJobs(state: State): Generator<JobRecord> {
  for (const id of state.jobOrder) {
    const record = state.jobs.get(id);
    if (record !== undefined) yield record;
  }
}

/** A job and its rows, as they were at one moment. */
export type SeenJob = Pick<JobRecord, "job" | "progress" | "lane"> & { readonly rows: Task[] };

/** Every job is read once: one that is folded costs its whole text each time. */
export const readJobs = (state: State): SeenJob[] =>
  Array.from(allJobs(state), (record) => {
    const { job, progress, lane } = record;
    return { job, progress, lane, rows: [...record.taskRows()] };
  });
