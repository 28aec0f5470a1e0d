import type { JobId } from "../core/model/ids.ts";
import type { Job } from "../core/model/job.ts";
import { taskTotalOf } from "../core/model/job.ts";
import { freshProgress } from "../core/state/progress.ts";
import type { Commit, JobSnapshot } from "./control-loop.ts";

export type JobLookup = (id: JobId) => Job | undefined;

/**
 * A commit as it is kept for watchers that come back. Of a job that was just submitted only the id
 * is kept: what it said then, its row still says, and the history would otherwise hold a hundred
 * thousand queued jobs that the state itself keeps folded.
 */
export interface KeptCommit extends Omit<Commit, "jobs"> {
  readonly changeCount: number;
  /** In the order of the commit; an id alone: as it was submitted. */
  readonly jobs: readonly (readonly [JobId, JobSnapshot] | JobId)[];
}

export function keepCommit({ revision, changes, jobs, loads }: Commit): KeptCommit {
  return {
    revision,
    changeCount: changes.length,
    // A job's row is told by `jobs`.
    changes: changes.filter((change) => change.table !== "job" || "removed" in change),
    jobs: Array.from(jobs, ([id, snapshot]) => (isAsSubmitted(snapshot) ? id : [id, snapshot])),
    loads,
  };
}

/** undefined: a job was removed since, and what it said is no longer known. */
export function restoreCommit(
  { revision, changes, jobs, loads }: KeptCommit,
  jobOf: JobLookup,
): Commit | undefined {
  const restored = new Map<JobId, JobSnapshot>();
  for (const kept of jobs) {
    if (typeof kept === "object") {
      restored.set(kept[0], kept[1]);
      continue;
    }
    const job = jobOf(kept);
    if (job === undefined) return undefined;
    restored.set(kept, asSubmitted(job));
  }
  return { revision, changes, jobs: restored, loads };
}

const isAsSubmitted = ({ job, progress, only }: JobSnapshot): boolean =>
  only === undefined &&
  job.closed === undefined &&
  progress.counts.pending === taskTotalOf(job.spec);

/** Closing it is all that can have changed a job's row. */
const asSubmitted = (job: Job): JobSnapshot => ({
  job: { ...job, closed: undefined },
  progress: freshProgress(taskTotalOf(job.spec)),
  only: undefined,
});
