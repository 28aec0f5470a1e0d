import type { JobId } from "../core/model/ids.ts";
import type { Job } from "../core/model/job.ts";
import { taskTotalOf } from "../core/model/job.ts";
import type { Change } from "../core/state/change.ts";
import { freshProgress } from "../core/state/progress.ts";
import type { Commit, JobSnapshot } from "./open-batch.ts";

export type JobLookup = (id: JobId) => Job | undefined;

/**
 * A commit as it is kept for watchers that come back. Of a job that was just submitted only the id
 * is kept: what it said then, its row still says, and the history would otherwise hold a hundred
 * thousand queued jobs that the state itself keeps folded.
 */
export interface KeptCommit extends Omit<Commit, "jobs"> {
  readonly changeCount: number;
  /** In the order of the commit. */
  readonly jobIds: readonly JobId[];
  /** Of the job at the same place; undefined: as it was submitted. */
  readonly snapshots: readonly (JobSnapshot | undefined)[];
}

export function keepCommit({ revision, changes, jobs, loads }: Commit): KeptCommit {
  const jobIds: JobId[] = [];
  const snapshots: (JobSnapshot | undefined)[] = [];
  for (const [id, snapshot] of jobs) {
    jobIds.push(id);
    snapshots.push(isAsSubmitted(snapshot) ? undefined : snapshot);
  }
  const told: Change[] = []; // a job's row is told by its snapshot
  for (const change of changes) {
    if (change.table !== "job" || "removed" in change) told.push(change);
  }
  return { revision, changeCount: changes.length, changes: told, jobIds, snapshots, loads };
}

/** undefined: a job was removed since, and what it said is no longer known. */
export function restoreCommit(
  { revision, changes, jobIds, snapshots, loads }: KeptCommit,
  jobOf: JobLookup,
): Commit | undefined {
  const jobs = new Map<JobId, JobSnapshot>();
  for (const [at, id] of jobIds.entries()) {
    const snapshot = snapshots[at] ?? asSubmitted(jobOf(id));
    if (snapshot === undefined) return undefined;
    jobs.set(id, snapshot);
  }
  return { revision, changes, jobs, loads };
}

const isAsSubmitted = ({ job, progress, only }: JobSnapshot): boolean =>
  only === undefined &&
  job.closed === undefined &&
  progress.counts.pending === taskTotalOf(job.spec);

/** Closing and releasing it is all that can have changed a job's row; of the latter nothing is told. */
function asSubmitted(job: Job | undefined): JobSnapshot | undefined {
  if (job === undefined) return undefined;
  const progress = freshProgress(taskTotalOf(job.spec));
  return { job: { ...job, closed: undefined }, progress, only: undefined };
}
