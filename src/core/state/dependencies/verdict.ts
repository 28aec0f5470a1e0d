import type { DependencyTarget, Wanted } from "../../model/job/dependency.ts";
import type { Job } from "../../model/job/job.ts";
import type { Task } from "../../model/job/task.ts";
import type { JobRecord } from "../jobs/job-record.ts";
import type { JobTable } from "../jobs/job-table.ts";
import type { Progress, TaskStateName } from "../../model/progress.ts";
import { isJobEnded, taskStateName } from "../../model/progress.ts";

/** Whether a target met the condition. Only "open" can still change. */
export type DependencyVerdict = "met" | "never" | "open";

/** The progress of a job or task that conditions depend on. Each field stays true once it is true. */
interface Course {
  readonly hasStarted: boolean;
  readonly hasEnded: boolean;
  /** It has ended without success, or cannot succeed any more. */
  readonly isDoomed: boolean;
}

const NOT_BEGUN: Course = { hasStarted: false, hasEnded: false, isDoomed: false };
const SUCCEEDED: Course = { hasStarted: true, hasEnded: true, isDoomed: false };
/** A job is removed only after its dependents have their verdicts; a missing job counts as lost. */
const GONE: Course = { hasStarted: false, hasEnded: true, isDoomed: true };

export function verdictOn(
  jobs: JobTable,
  when: Wanted,
  target: DependencyTarget,
): DependencyVerdict {
  return judge(when, courseOf(jobs, target));
}

function courseOf(jobs: JobTable, { jobId, index }: DependencyTarget): Course {
  // The most frequent question about an ended job is answered without decoding it.
  if (index === undefined && jobs.foldedEnd(jobId)?.state === "succeeded") return SUCCEEDED;
  const record = jobs.getIfBegun(jobId);
  // Otherwise a folded job is queued.
  if (record === undefined) return jobs.has(jobId) ? NOT_BEGUN : GONE;
  return index === undefined ? courseOfJob(record.progress) : courseOfTask(record, index);
}

export const courseOfJob = (progress: Progress): Course => {
  const { failed, cancelled, expired, skipped } = progress.counts;
  return {
    hasStarted: progress.startedAtMs !== undefined,
    hasEnded: isJobEnded(progress),
    // An array with a failed task cannot succeed, whatever the others do.
    isDoomed: failed + cancelled + expired + skipped > 0,
  };
};

function courseOfTask(record: JobRecord, index: number): Course {
  const task = record.task(index);
  const name = taskStateName(record.job, task?.state);
  const isDoomed = ENDED_BADLY.has(name);
  const hasEnded = isDoomed || name === "succeeded";
  return { hasStarted: task !== undefined && hasStarted(task), hasEnded, isDoomed };
}

const ENDED_BADLY: ReadonlySet<TaskStateName> = new Set([
  "failed",
  "cancelled",
  "expired",
  "skipped",
] as const);

function hasStarted({ state, past }: Task): boolean {
  if ("startedAtMs" in state && state.startedAtMs !== undefined) return true;
  return past.some(({ startedAtMs }) => startedAtMs !== undefined);
}

function judge(
  when: Wanted,
  { hasStarted: started, hasEnded, isDoomed }: Course,
): DependencyVerdict {
  switch (when) {
    case "ok":
      return isDoomed ? "never" : hasEnded ? "met" : "open";
    case "not-ok":
      return !hasEnded ? "open" : isDoomed ? "met" : "never";
    case "any":
      return hasEnded ? "met" : "open";
    case "started":
      return started ? "met" : hasEnded ? "never" : "open";
  }
}

/** Whether the change of a job's progress can change a verdict of its dependents. */
export function mayChangeVerdicts(before: Progress, after: Progress): boolean {
  const [a, b] = [courseOfJob(before), courseOfJob(after)];
  return a.hasStarted !== b.hasStarted || a.hasEnded !== b.hasEnded || a.isDoomed !== b.isDoomed;
}

/** Whether dependencies keep the job out of the queue. */
export const isHeld = ({ job, progress }: { readonly job: Job; readonly progress: Progress }) =>
  job.waitsFor !== undefined && job.closed === undefined && !isJobEnded(progress);
