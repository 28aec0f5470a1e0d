import { indexAt } from "../../core/model/job/array-range.ts";
import { TASKS_PER_BLOCK } from "../../core/state/jobs/array-tasks.ts";
import type { JobRecord } from "../../core/state/jobs/job-record.ts";
import { type TaskStateName, taskStateName } from "../../core/model/progress.ts";
import { limits } from "../../limits.ts";

/** Showing a task takes as long as checking this many others. */
const SHOWING_LOOKS = 4;

interface TaskListOptions {
  /** Empty: any. */
  readonly states: readonly TaskStateName[];
  readonly size: number;
  /** Position in the array. */
  readonly from: number;
}

/**
 * One page of a job's tasks in the order of their indexes, read in slices. Skips blocks of an array whose tasks are all in other states.
 */
export class TaskList<View> {
  readonly found: View[] = [];
  /** The number of checked tasks: for tests. */
  looks = 0;
  readonly #size: number;
  readonly #wanted: ReadonlySet<TaskStateName>;
  #position: number;
  #isOver = false;

  constructor({ states, size, from }: TaskListOptions) {
    this.#wanted = new Set(states);
    this.#size = size;
    this.#position = from;
  }

  /** The position of the next page; undefined: there is none. */
  get next(): number | undefined {
    return this.#isOver ? undefined : this.#position;
  }

  /** Checks some tasks; returns whether the page is complete. */
  slice(record: JobRecord, show: (index: number) => View): boolean {
    const until = Math.min(this.looks + limits.listSliceLooks, limits.listPageLooksMax);
    while (this.looks < until && this.found.length < this.#size) {
      this.looks++;
      this.#passOver(record);
      const index = indexAt(record.ranges, this.#position);
      if (index === undefined) break;
      this.#position++;
      const name = taskStateName(record.job, record.task(index)?.state);
      if (this.#wanted.size > 0 && !this.#wanted.has(name)) continue;
      this.looks += SHOWING_LOOKS;
      this.found.push(show(index));
    }
    this.#isOver = indexAt(record.ranges, this.#position) === undefined;
    const isFull = this.found.length >= this.#size;
    return this.#isOver || isFull || this.looks >= limits.listPageLooksMax;
  }

  /** At the beginning of a block without wanted tasks: continues after it. */
  #passOver(record: JobRecord): void {
    const { arrayTasks } = record;
    if (this.#wanted.size === 0) return;
    if (arrayTasks === undefined && record.taskRowCount > 0) return; // shares
    while (this.#position % TASKS_PER_BLOCK === 0) {
      const kinds = arrayTasks === undefined ? "no-rows" : arrayTasks.endedKinds(this.#position);
      if (kinds === undefined) return;
      const isAnyWithout = kinds === "no-rows" || countOf(kinds) < TASKS_PER_BLOCK;
      if (isAnyWithout && this.#wanted.has(taskStateName(record.job, undefined))) return;
      if (kinds !== "no-rows" && ENDED.some((kind) => kinds[kind] > 0 && this.#wanted.has(kind)))
        return;
      if (indexAt(record.ranges, this.#position) === undefined) return;
      this.#position += TASKS_PER_BLOCK;
    }
  }
}

const ENDED = ["succeeded", "failed", "cancelled"] as const;

const countOf = (kinds: Readonly<Record<(typeof ENDED)[number], number>>): number =>
  kinds.succeeded + kinds.failed + kinds.cancelled;
