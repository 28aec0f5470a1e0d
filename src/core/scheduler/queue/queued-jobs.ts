import type { IndexRanges } from "../../model/job/array-range.ts";
import type { JobId, Revision } from "../../model/ids.ts";
import type { Job } from "../../model/job/job.ts";
import type { Task } from "../../model/job/task.ts";
import type { Progress } from "../../model/progress.ts";
import type { Lane } from "./lane.ts";

/** A job as the planner sees it; `JobRecord` implements it. */
export interface QueuedJobRecord {
  readonly job: Job;
  readonly progress: Progress;
  /** The lane of the queue that holds it. */
  lane: Lane | undefined;
  /**
   * It is not placed before a time: its start time, or the end of the backoff after a failed share
   * of its energy.
   */
  isBackingOff: boolean;
  readonly ranges: IndexRanges;
  task(index: number): Task | undefined;
  /** The next index to place, or undefined when none is left. Does not remove it. */
  nextIndex(): number | undefined;
  /** An index whose backoff is over goes before those never placed. */
  addReturned(index: number): void;
}

/** All jobs as the planner sees them; `JobTable` implements it. */
export interface QueuedJobTable {
  /** For reading only. */
  get(id: JobId): { readonly job: Job } | undefined;
  /** To place a task of it; undefined: it has ended. */
  openWaiting(id: JobId): QueuedJobRecord | undefined;
  addFolded(id: JobId, text: string, lane: Lane, revision: Revision): void;
}
