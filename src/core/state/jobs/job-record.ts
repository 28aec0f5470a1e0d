import { Heap } from "../../../lib/collections/heap.ts";
import { indexAt, positionOf } from "../../model/job/array-range.ts";
import type { IndexRanges } from "../../model/job/array-range.ts";
import type { Job } from "../../model/job/job.ts";
import { rangesOf, taskTotalOf } from "../../model/job/job.ts";
import { isEnded, type Task } from "../../model/job/task.ts";
import type { Lane } from "../../scheduler/queue/lane.ts";
import { ArrayTasks } from "./array-tasks.ts";
import type { Progress } from "./progress.ts";
import { freshProgress } from "./progress.ts";

/**
 * A job in memory: its row, the rows of its tasks that deviate, and what is derived from them.
 * Changed by State.apply only.
 */
export class JobRecord {
  job: Job;
  /** The job's row as it is stored, if that is at hand: it is folded so when the job has ended. */
  rowText: string | undefined = undefined;
  progress: Progress;
  /** The lane of the queue that holds it. */
  lane: Lane | undefined = undefined;
  // One task needs no table.
  #tasks: Task | ArrayTasks | undefined = undefined;
  /** Position of the first index that may never have been placed. */
  #cursor = 0;
  /** Indexes to place again, smallest first. May hold some that are no longer waiting. */
  #returned: Heap<number> | undefined = undefined;

  constructor(job: Job) {
    this.job = job;
    this.progress = freshProgress(taskTotalOf(job.spec));
  }

  /**
   * One task, never placed, nothing decided about it: the row says it all. Not one that depends on
   * others: its row is written again when it is released, and jobs are folded in their order.
   */
  get onlyWaits(): boolean {
    const { closed, spec } = this.job;
    const isPlain = spec.array === undefined && spec.dependsOn === undefined;
    return this.#tasks === undefined && closed === undefined && isPlain;
  }

  get ranges(): IndexRanges {
    return rangesOf(this.job.spec);
  }

  task(index: number): Task | undefined {
    const tasks = this.#tasks;
    if (tasks instanceof ArrayTasks) return tasks.get(index);
    return tasks?.index === index ? tasks : undefined;
  }

  setTask(task: Task): void {
    if (this.job.spec.array === undefined) {
      this.#tasks = task;
      return;
    }
    this.#tasks ??= new ArrayTasks(this.job.id, this.ranges);
    if (this.#tasks instanceof ArrayTasks) this.#tasks.set(task);
  }

  get taskRowCount(): number {
    return this.#tasks instanceof ArrayTasks ? this.#tasks.size : this.#tasks === undefined ? 0 : 1;
  }

  /** Every task that has a row, in no order. */
  taskRows(): Iterable<Task> {
    if (this.#tasks instanceof ArrayTasks) return this.#tasks.rows();
    return this.#tasks === undefined ? [] : [this.#tasks];
  }

  /** Those of them that have not ended: of an array that is nearly over these are few. */
  openTaskRows(): Iterable<Task> {
    if (this.#tasks instanceof ArrayTasks) return this.#tasks.open();
    return this.#tasks === undefined || isEnded(this.#tasks.state) ? [] : [this.#tasks];
  }

  /** Rows that may hold more than how, where and when a task ended: of most arrays few. */
  unlikeTaskRows(): Iterable<Task> {
    return this.#tasks instanceof ArrayTasks ? this.#tasks.unlike() : this.taskRows();
  }

  taskRowIndexes(): Iterable<number> {
    if (this.#tasks instanceof ArrayTasks) return this.#tasks.indexes();
    return this.#tasks === undefined ? [] : [this.#tasks.index];
  }

  /** The rows of an array, once one of its tasks has one. */
  get arrayTasks(): ArrayTasks | undefined {
    return this.#tasks instanceof ArrayTasks ? this.#tasks : undefined;
  }

  /** An index whose backoff is over goes before those never placed. */
  giveBack(index: number): void {
    this.#returned ??= new Heap((a, b) => a < b);
    this.#returned.push(index);
  }

  /** The next index to place, or undefined when nothing is left. Does not take it. */
  nextIndex(): number | undefined {
    if (this.job.closed !== undefined) return undefined;
    for (;;) {
      const index = this.#returned?.peek();
      if (index === undefined) break;
      if (this.task(index)?.state.kind === "waiting") return index;
      this.#returned?.pop(); // placed or cancelled since
    }
    const ranges = this.ranges;
    for (;;) {
      const index = indexAt(ranges, this.#cursor);
      if (index === undefined || this.task(index) === undefined) return index;
      this.#cursor++; // placed or cancelled since
    }
  }

  /** How many of its tasks stand before `index` and have not been placed: for explain. */
  positionOf(index: number): number {
    return Math.max(0, positionOf(this.ranges, index) - this.#cursor);
  }
}
