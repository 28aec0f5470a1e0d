import { OrderedTree } from "../../../lib/collections/ordered-tree.ts";
import { freshGroup, type Group } from "../../model/group.ts";
import { type GroupId, NO_REVISION, type Revision } from "../../model/ids.ts";
import type { UsageTally } from "../../model/job/usage.ts";
import { noUsage, tallyUsage } from "../../model/job/usage.ts";
import type { Standing } from "./group-order.ts";
import { type Lane, type LaneEntry, laneGoesFirst } from "./lane.ts";
import type { JobStateName, Progress, TaskStateName } from "../../model/progress.ts";
import { noCounts, TASK_STATES } from "../../model/progress.ts";

export const noJobCounts = (): Record<JobStateName, number> => ({
  pending: 0,
  accepted: 0,
  running: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
  skipped: 0,
});

type Tally = Pick<GroupRecord, "jobs" | "tasks" | "usage">;

/** Updates the tallies of a group and of all groups when the progress of a job changes. */
export function moveTallies(group: Tally, all: Tally, before: Progress, after: Progress): void {
  const { counts: now } = after;
  const { counts: then } = before;
  // Runs on every transition of every task: updates only what differs.
  for (const name of TASK_STATES) {
    const difference = now[name] - then[name];
    if (difference === 0) continue;
    group.tasks[name] += difference;
    all.tasks[name] += difference;
  }
  if (before.usage !== after.usage) {
    for (const { usage } of [group, all]) {
      tallyUsage(usage, before.usage, -1);
      tallyUsage(usage, after.usage);
    }
  }
  if (before.state === after.state) return;
  group.jobs[before.state]--;
  group.jobs[after.state]++;
  all.jobs[before.state]--;
  all.jobs[after.state]++;
}

/** A group in memory: its row, the tallies of its jobs, and its part of the queue. */
export class GroupRecord {
  group: Group;
  /** Of its row; none: it was never written. */
  revision: Revision = NO_REVISION;
  readonly jobs: Record<JobStateName, number> = noJobCounts();
  readonly tasks: Record<TaskStateName, number> = noCounts();
  /** The usage of all attempts of its jobs. */
  readonly usage: UsageTally = noUsage();
  /** The resources that its tasks hold on nodes now. */
  readonly used: Record<string, number> = {};
  readonly lanes = new Map<string, Lane>();
  /** Lanes whose class may fit somewhere, in their order; the others are parked in their pools. */
  readonly ready = new OrderedTree<LaneEntry>({ before: laneGoesFirst });
  /** Its rank when it was last computed, as listed among groups with ready lanes: GroupOrder's. */
  standing: Standing | undefined = undefined;
  listed: Standing | undefined = undefined;
  isTouched = false;
  /**
   * How often it was served so far, divided by weight: decides between groups with equal shares.
   */
  pass = 0;

  constructor(group: Group) {
    this.group = group;
  }

  get activeTasks(): number {
    const { offered, assigned, running, stopping } = this.tasks;
    return offered + assigned + running + stopping;
  }

  /** Whether another task of it may be placed now. */
  get mayPlace(): boolean {
    const { pausedBy, runningTasksMax = Number.POSITIVE_INFINITY } = this.group;
    return pausedBy === undefined && this.activeTasks < runningTasksMax;
  }

  get jobTotal(): number {
    let total = 0;
    for (const count of Object.values(this.jobs)) total += count;
    return total;
  }
}

/** The group's record; one that was never written has the defaults. */
export function groupIn(groups: Map<GroupId, GroupRecord>, id: GroupId): GroupRecord {
  let record = groups.get(id);
  if (record === undefined) {
    record = new GroupRecord(freshGroup(id));
    groups.set(id, record);
  }
  return record;
}

/** A job with one task, which was pending, has ended. */
export function tallyEnd(
  tallies: readonly Tally[],
  state: "succeeded" | "failed" | "cancelled",
  used: Parameters<typeof tallyUsage>[1],
): void {
  for (const { jobs, tasks, usage } of tallies) {
    jobs.pending--;
    tasks.pending--;
    jobs[state]++;
    tasks[state]++;
    tallyUsage(usage, used);
  }
}
