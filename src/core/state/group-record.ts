import { OrderedTree } from "../../lib/ordered-tree.ts";
import type { Group } from "../model/group.ts";
import type { Standing } from "../scheduler/group-order.ts";
import { type Lane, type LaneEntry, laneGoesFirst } from "../scheduler/lane.ts";
import type { JobStateName, TaskStateName } from "./progress.ts";
import { noCounts } from "./progress.ts";

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

/** A group in memory: its row, what its jobs come to, and its part of the queue. */
export class GroupRecord {
  group: Group;
  readonly jobs: Record<JobStateName, number> = noJobCounts();
  readonly tasks: Record<TaskStateName, number> = noCounts();
  /** What its tasks hold on nodes now. */
  readonly used: Record<string, number> = {};
  readonly lanes = new Map<string, Lane>();
  /** Lanes whose class may fit somewhere, in their order; the others are parked in their pools. */
  readonly ready = new OrderedTree<LaneEntry>({ before: laneGoesFirst });
  /** Its rank when it was last computed, as listed among groups with ready lanes: GroupOrder's. */
  standing: Standing | undefined = undefined;
  listed: Standing | undefined = undefined;
  isTouched = false;
  /** How much it was given so far, by weight: decides between groups that hold equal shares. */
  pass = 0;

  constructor(group: Group) {
    this.group = group;
  }

  get activeTasks(): number {
    const { offered, assigned, running, stopping } = this.tasks;
    return offered + assigned + running + stopping;
  }

  get jobTotal(): number {
    let total = 0;
    for (const count of Object.values(this.jobs)) total += count;
    return total;
  }
}
