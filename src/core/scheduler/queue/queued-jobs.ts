import type { IndexRanges } from "../../model/job/array-range.ts";
import type { JobId, Revision } from "../../model/ids.ts";
import type { Job } from "../../model/job/job.ts";
import type { Task } from "../../model/job/task.ts";
import type { Progress } from "../../model/progress.ts";
import type { Lane } from "./lane.ts";

/** A job as the planner sees it: `JobRecord` of the state. */
export interface QueuedJobRecord {
  readonly job: Job;
  readonly progress: Progress;
  /** The lane of the queue that holds it. */
  lane: Lane | undefined;
  /** It is not placed before a time: it is to begin then, or of its energy a share failed. */
  isBackingOff: boolean;
  readonly ranges: IndexRanges;
  task(index: number): Task | undefined;
  /** The next index to place, or undefined when nothing is left. Does not take it. */
  nextIndex(): number | undefined;
  /** An index whose backoff is over goes before those never placed. */
  giveBack(index: number): void;
}

/** All jobs as the planner sees them: `JobTable` of the state. */
export interface QueuedJobTable {
  /** To look at, not to change. */
  get(id: JobId): { readonly job: Job } | undefined;
  /** To place a task of it; undefined: it has ended. */
  openWaiting(id: JobId): QueuedJobRecord | undefined;
  addFolded(id: JobId, text: string, lane: Lane, revision: Revision): void;
}
