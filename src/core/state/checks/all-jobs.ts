import type { Revision } from "../../model/ids.ts";
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

/** A job and its rows at one moment. */
export type SeenJob = Pick<
  JobRecord,
  "job" | "progress" | "lane" | "isBackingOff" | "revision" | "rowRevision"
> & {
  readonly rows: Task[];
  /** Of the rows. */
  readonly revisions: readonly Revision[];
};

/** Reads every job once: each read of a folded job decodes its whole text. */
export const readJobs = (state: State): SeenJob[] =>
  Array.from(allJobs(state), (record) => {
    const { job, progress, lane, isBackingOff, revision, rowRevision } = record;
    const rows = [...record.taskRows()];
    const revisions = rows.map(({ index }) => record.taskRevision(index));
    return { job, progress, lane, isBackingOff, revision, rowRevision, rows, revisions };
  });
