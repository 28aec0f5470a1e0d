import { positionOf } from "../../core/model/job/array-range.ts";
import { type Job, type JobSpec, rangesOf, taskTotalOf } from "../../core/model/job/job.ts";
import { countHeld, isHeldAt } from "../../core/model/job/user-hold.ts";
import { isAtTaskLimit, activeTasksOf } from "../../core/model/progress.ts";
import type { JobRecord } from "../../core/state/jobs/job-record.ts";
import type { State } from "../../core/state/state.ts";

/** Changes of a job after its submission. */
export interface JobChangesView {
  /** The principal that holds its tasks in the queue. */
  readonly heldBy?: string;
  /** How many of its tasks are on hold. */
  readonly heldTasks?: number;
  /** The principal that last held, released or updated it. */
  readonly changedBy?: string;
}

export const showChanges = ({ hold, changedBy }: Job, taskTotal: number) => ({
  heldBy: hold?.by,
  heldTasks: hold && countHeld(hold, taskTotal),
  changedBy,
});

/** Why a task in the queue ended with its job, or is not placed. */
export function queueReason({ closed, hold, spec }: Job, index: number): string | undefined {
  if (closed !== undefined || hold === undefined) return closed?.reason;
  return isHeldAt(hold, positionOf(rangesOf(spec), index)) ? `on hold: ${hold.reason}` : undefined;
}

/** Why no task of a job is placed, regardless of free capacity; undefined: there is no such reason. */
export function whyNotPlaced(state: State, record: JobRecord): string | undefined {
  const { hold, spec } = record.job;
  if (hold !== undefined && hold.tasks === undefined) return `on hold: ${hold.reason}`;
  const at = beginsLater(record);
  if (at !== undefined) return `not before ${at}`;
  return whyPaused(state, spec);
}

/** The same for a job that is not submitted. */
export function whyNotYet(state: State, spec: JobSpec, nowMs: number): string | undefined {
  const { beginAtMs } = spec.terms;
  if (spec.dependsOn !== undefined) return "waits for the jobs it depends on";
  if (beginAtMs !== undefined && beginAtMs > nowMs) {
    return `not before ${new Date(beginAtMs).toISOString()}`;
  }
  return whyPaused(state, spec);
}

function whyPaused(state: State, spec: JobSpec): string | undefined {
  const group = state.groups.get(spec.group)?.group;
  return group?.pausedBy && `group ${group.id} is paused by ${group.pausedBy}`;
}

/** The earliest start of the job; undefined: it may start already. */
function beginsLater({ job, isBackingOff, taskRowCount }: JobRecord): string | undefined {
  const { beginAtMs } = job.spec.terms;
  if (beginAtMs === undefined || !isBackingOff || taskRowCount > 0) return undefined;
  return new Date(beginAtMs).toISOString();
}

/** "2 tasks of it are under way, as many as may be at once"; undefined: more may be. */
export function describeAtMost({ job, progress }: JobRecord): string | undefined {
  if (!isAtTaskLimit(job, progress)) return undefined;
  return `${activeTasksOf(progress)} of its tasks are under way, the limit of its array`;
}

/** The user's remedy. */
export function hintAgainst(state: State, { job }: JobRecord): string | undefined {
  const { hold, spec, id } = job;
  if (hold !== undefined && hold.tasks === undefined) return `release it: busbar release ${id}`;
  const group = state.groups.get(spec.group)?.group;
  return group?.pausedBy === undefined ? undefined : `resume it: busbar groups resume ${group.id}`;
}

/** "3 of its tasks are on hold: REASON"; undefined: none is, or all are. */
export function describePartlyHeld({ job }: JobRecord): string | undefined {
  const { hold, spec } = job;
  if (hold?.tasks === undefined) return undefined;
  const held = countHeld(hold, taskTotalOf(spec));
  return `${held === 1 ? "1 task is" : `${held} tasks are`} on hold: ${hold.reason}`;
}
