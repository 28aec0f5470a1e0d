import { limits } from "../../../limits.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import type { JobSpec } from "../../model/job/job.ts";
import type { Resources } from "../../model/resources.ts";
import type { Task } from "../../model/job/task.ts";

/**
 * The run times of the last tasks of one node, all with the same request: tasks that are short enough
 * are fetched ahead. Not stored: a restarted server measures again.
 */
export class RunTimes {
  /** Their request; undefined: nothing is known. */
  needs: Resources | undefined = undefined;
  count = 0;
  /** Of about the last 32. */
  meanMs = 0;

  /** An attempt has ended on the node. */
  ended({ needs, request }: JobSpec, { state }: Task): void {
    if (state.kind === "cancelled") return;
    // Where tasks fail at once, there is no gain in fetching the next ones ahead.
    if (state.kind !== "succeeded" || request !== undefined) {
      this.clear();
      return;
    }
    if (!this.isOf(needs)) this.clear();
    this.needs = needs;
    this.count++;
    const tookMs = state.endedAtMs - state.startedAtMs;
    this.meanMs += (tookMs - this.meanMs) / Math.min(this.count, limits.runTimesMax);
  }

  clear(): void {
    this.needs = undefined;
    this.count = 0;
    this.meanMs = 0;
  }

  isOf(needs: Resources): boolean {
    return this.needs === needs || (this.needs !== undefined && isDeepEqual(this.needs, needs));
  }

  /**
   * The number of tasks that a node of this capacity may hold ahead; 0: they take too long, or too few
   * were measured.
   */
  depth(capacity: Resources): number {
    if (this.needs === undefined || this.count < limits.runTimesMin) return 0;
    if (this.meanMs > limits.aheadTaskMsMax) return 0;
    const generations = Math.max(1, Math.round(limits.aheadMs / this.meanMs));
    return Math.min(limits.heldPerNodeMax, generations * slotsOf(this.needs, capacity));
  }
}

/** How many tasks with these needs fit into the free capacity. */
export function slotsOf(needs: Resources, free: Resources): number {
  let slots: number = limits.heldPerNodeMax;
  for (const name in needs) {
    const each = needs[name] ?? 0;
    if (each > 0) slots = Math.min(slots, Math.floor((free[name] ?? 0) / each));
  }
  return Math.max(0, slots);
}
