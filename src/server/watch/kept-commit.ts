import { type GroupId, type JobId, type Revision, revision } from "../../core/model/ids.ts";
import { asSubmitted, type Job, type JobSpec } from "../../core/model/job/job.ts";
import type { Change } from "../../core/state/change.ts";
import { freshProgress, taskTotalIn } from "../../core/model/progress.ts";
import { limits } from "../../limits.ts";
import type { Commit, JobSnapshot } from "../loop/open-batch.ts";
import { WATCH_KINDS, type WatchKind } from "./watch-filter.ts";

export type JobLookup = (id: JobId) => Job | undefined;

/** A change that watchers can see by itself; a job's row is shown by its snapshot. */
export type ShownChange = Exclude<
  Extract<Change, { readonly table: WatchKind }>,
  { readonly table: "job"; readonly row: Job }
>;

/**
 * A commit in the history of the watch hub. It holds only the id of a job that was just submitted:
 * the job's row has not changed since, and the history would otherwise hold a hundred
 * thousand queued jobs that the state itself holds folded.
 */
export interface KeptCommit extends Pick<
  Commit,
  "before" | "revision" | "loads" | "statuses" | "removedFrom" | "hasReplaced"
> {
  /** Number of changes of the whole commit, also of those that watchers do not see. */
  readonly changeCount: number;
  /** About how much memory it holds. */
  readonly bytes: number;
  readonly changes: readonly ShownChange[];
  /** The revision of the change at the same position. */
  readonly revisions: readonly Revision[];
  /** In the order in which the commit changed them. */
  readonly jobIds: readonly JobId[];
  /** The snapshot of the job at the same position; undefined: as it was submitted. */
  readonly snapshots: readonly (JobSnapshot | undefined)[];
  /** The revision of the job at the same position. */
  readonly jobRevisions: Float64Array;
  /** The approximate length of its event. */
  readonly jobSizes: Float64Array;
}

/** Decides where blocks of events end: a block has few events, and few bytes unless one event is larger. */
export class BlockCutter {
  #events = 0;
  #bytes = 0;

  /** Adds an event; returns whether it begins another block. */
  add(bytes: number): boolean {
    const isFull =
      this.#events >= limits.watchBlockEventsMax || this.#bytes >= limits.watchBlockBytesMax;
    this.#events = isFull ? 1 : this.#events + 1;
    this.#bytes = isFull ? bytes : this.#bytes + bytes;
    return isFull;
  }
}

const JOB_ID_BYTES = 32;
const CHANGE_BYTES = 500; // measured with a million tasks (bench k.ended)
const JOB_BYTES = 800;
const PAST_ATTEMPT_BYTES = 200;
const REQUEST_BYTES = 4_096;

export function keepCommit(commit: Commit): KeptCommit {
  const { before, revision, changes, jobs, loads, statuses, removedFrom, hasReplaced } = commit;
  const jobIds: JobId[] = [];
  const snapshots: (JobSnapshot | undefined)[] = [];
  const jobRevisions = new Float64Array(jobs.size);
  const jobSizes = new Float64Array(jobs.size);
  let bytes = CHANGE_BYTES;
  for (const [id, snapshot] of jobs) {
    const isSubmitted = isAsSubmitted(snapshot);
    const ofJob = jobBytes(snapshot.job.spec);
    jobRevisions[jobIds.length] = snapshot.revision;
    jobSizes[jobIds.length] = ofJob;
    jobIds.push(id);
    snapshots.push(isSubmitted ? undefined : snapshot);
    bytes += isSubmitted ? JOB_ID_BYTES : ofJob;
  }
  const shown: ShownChange[] = [];
  const revisions: Revision[] = [];
  for (const [at, change] of changes.entries()) {
    if (!isShown(change)) continue;
    shown.push(change);
    revisions.push(commit.revisions[at] ?? revision);
    bytes += changeBytes(change);
  }
  const changeCount = changes.length;
  const kept = { before, revision, changeCount, bytes, changes: shown, revisions, hasReplaced };
  return { ...kept, jobIds, snapshots, jobRevisions, jobSizes, loads, statuses, removedFrom };
}

const WATCHED: ReadonlySet<string> = new Set(WATCH_KINDS);

const isShown = (change: Change): change is ShownChange =>
  WATCHED.has(change.table) && !(change.table === "job" && "row" in change);

export const changeBytes = (change: ShownChange): number =>
  CHANGE_BYTES + (change.table === "task" ? change.row.past.length * PAST_ATTEMPT_BYTES : 0);

/** About how much memory a job's row takes, and its event on a wire. */
export function jobBytes({ work, env, labels, request, select }: JobSpec): number {
  let bytes = JOB_BYTES;
  if (work.kind === "command") for (const argument of work.argv) bytes += argument.length;
  else bytes += work.text.length;
  if (request !== undefined || select !== undefined) bytes += REQUEST_BYTES;
  for (const name in env) bytes += name.length + (env[name]?.length ?? 0);
  for (const name in labels) bytes += name.length + (labels[name]?.length ?? 0);
  return bytes;
}

/** The job at a position, as it was; undefined: it was removed since, and its submission is lost. */
export function snapshotAt(
  { jobIds, snapshots, jobRevisions }: KeptCommit,
  at: number,
  jobOf: JobLookup,
): JobSnapshot | undefined {
  const snapshot = snapshots[at];
  const id = jobIds[at];
  if (snapshot !== undefined || id === undefined) return snapshot;
  return submission(jobOf(id), revision(jobRevisions[at] ?? 0));
}

/** The group of the job at a position; undefined when the job was removed since. */
export const groupAt = (commit: KeptCommit, at: number, jobOf: JobLookup): GroupId | undefined =>
  snapshotAt(commit, at, jobOf)?.job.spec.group;

const isAsSubmitted = ({ job, progress, only }: JobSnapshot): boolean =>
  only === undefined &&
  job.closed === undefined &&
  job.changedBy === undefined &&
  progress.counts.pending === taskTotalIn(job.spec, progress);

/** A release of a job is not an event. */
function submission(job: Job | undefined, at: Revision): JobSnapshot | undefined {
  if (job === undefined) return undefined;
  const progress = freshProgress(job.spec);
  return { job: asSubmitted(job), progress, only: undefined, revision: at };
}
