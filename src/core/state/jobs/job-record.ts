import { Heap } from "../../../lib/collections/heap.ts";
import { indexAt, positionOf } from "../../model/job/array-range.ts";
import type { IndexRanges } from "../../model/job/array-range.ts";
import { NO_REVISION, type Revision } from "../../model/ids.ts";
import type { Job } from "../../model/job/job.ts";
import { rangesOf } from "../../model/job/job.ts";
import { isEnded, type Task } from "../../model/job/task.ts";
import type { Lane } from "../../scheduler/queue/lane.ts";
import type { QueuedJobRecord } from "../../scheduler/queue/queued-jobs.ts";
import { unplacedOf } from "../../model/energy-progress.ts";
import { ShareTasks } from "../energy/share-tasks.ts";
import { ArrayTasks } from "./array-tasks.ts";
import type { Progress } from "../../model/progress.ts";
import { freshProgress } from "../../model/progress.ts";

/**
 * A job in memory: its row, the rows of its tasks that deviate, and what is derived from them.
 * Changed by State.apply only.
 */
export class JobRecord implements QueuedJobRecord {
  job: Job;
  /** The job's row as it is stored, if that is at hand: it is folded so when the job has ended. */
  rowText: string | undefined = undefined;
  progress: Progress;
  /** Of the last change of its row, or of one of its tasks: whatever is shown of it. */
  revision: Revision;
  /** Of its row. */
  rowRevision: Revision;
  /** The lane of the queue that holds it. */
  lane: Lane | undefined = undefined;
  /** Of a job with energy: a share failed, and the next are not made before its backoff is over. */
  isBackingOff = false;
  // One task needs no table.
  #tasks: Task | ArrayTasks | ShareTasks | undefined = undefined;
  /** Of the row of its only task. */
  #taskRevision: Revision = NO_REVISION;
  /** Position of the first index that may never have been placed. */
  #cursor = 0;
  /** Indexes to place again, smallest first. May hold some that are no longer waiting. */
  #returned: Heap<number> | undefined = undefined;

  constructor(job: Job, revision: Revision) {
    this.job = job;
    this.revision = revision;
    this.rowRevision = revision;
    this.progress = freshProgress(job.spec);
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

  /** Of a job with energy: its shares so far, and what is not placed as one more. */
  get ranges(): IndexRanges {
    if (this.job.spec.energy === undefined) return rangesOf(this.job.spec);
    const count = this.#sharesMade + (unplacedOf(this.job, this.progress) > 0 ? 1 : 0);
    return count === 0 ? [] : [{ first: 0, last: count - 1, step: 1 }];
  }

  /** Indexes that were given out. */
  get #sharesMade(): number {
    return this.#tasks instanceof ShareTasks ? this.#tasks.next : 0;
  }

  task(index: number): Task | undefined {
    const tasks = this.#tasks;
    if (tasks instanceof ArrayTasks || tasks instanceof ShareTasks) return tasks.get(index);
    return tasks?.index === index ? tasks : undefined;
  }

  /** Of the task's row; one that has none is shown by its job's. */
  taskRevision(index: number): Revision {
    const tasks = this.#tasks;
    if (isTable(tasks)) return tasks.revisionOf(index) ?? this.rowRevision;
    return tasks?.index === index ? this.#taskRevision : this.rowRevision;
  }

  setTask(task: Task, revision: Revision): void {
    if (this.job.spec.energy !== undefined) {
      this.#tasks ??= new ShareTasks();
      if (this.#tasks instanceof ShareTasks) this.#tasks.set(task, revision);
      return;
    }
    if (this.job.spec.array === undefined) {
      this.#tasks = task;
      this.#taskRevision = revision;
      return;
    }
    this.#tasks ??= new ArrayTasks(this.job.id, this.ranges);
    if (this.#tasks instanceof ArrayTasks) this.#tasks.set(task, revision);
  }

  /** Its row was written, or one of its tasks moved. */
  moveTo(revision: Revision): void {
    if (revision > this.revision) this.revision = revision;
  }

  get taskRowCount(): number {
    if (this.#tasks === undefined) return 0;
    return isTable(this.#tasks) ? this.#tasks.size : 1;
  }

  /** Every task that has a row, in no order. */
  taskRows(): Iterable<Task> {
    if (isTable(this.#tasks)) return this.#tasks.rows();
    return this.#tasks === undefined ? [] : [this.#tasks];
  }

  /** Those of them that have not ended: of an array that is nearly over these are few. */
  openTaskRows(): Iterable<Task> {
    if (isTable(this.#tasks)) return this.#tasks.open();
    return this.#tasks === undefined || isEnded(this.#tasks.state) ? [] : [this.#tasks];
  }

  /** Rows that may hold more than how, where and when a task ended: of most arrays few. */
  unlikeTaskRows(): Iterable<Task> {
    return this.#tasks instanceof ArrayTasks ? this.#tasks.unlike() : this.taskRows();
  }

  taskRowIndexes(): Iterable<number> {
    if (isTable(this.#tasks)) return this.#tasks.indexes();
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
    if (this.job.spec.energy !== undefined) return this.#nextShare();
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

  #nextShare(): number | undefined {
    const mayPlace = !this.isBackingOff && unplacedOf(this.job, this.progress) > 0;
    return mayPlace ? this.#sharesMade : undefined;
  }

  /** How many of its tasks stand before `index` and have not been placed: for explain. */
  positionOf(index: number): number {
    return Math.max(0, positionOf(this.ranges, index) - this.#cursor);
  }
}

const isTable = (
  tasks: Task | ArrayTasks | ShareTasks | undefined,
): tasks is ArrayTasks | ShareTasks => tasks instanceof ArrayTasks || tasks instanceof ShareTasks;
