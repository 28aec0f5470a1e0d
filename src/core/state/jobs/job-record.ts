import { Heap } from "../../../lib/collections/heap.ts";
import { countIndexes, indexAt, positionOf } from "../../model/job/array-range.ts";
import type { IndexRanges } from "../../model/job/array-range.ts";
import { NO_REVISION, type Revision } from "../../model/ids.ts";
import type { Job } from "../../model/job/job.ts";
import { rangesOf } from "../../model/job/job.ts";
import { heldSpanAt, isHeldAt, isWhollyHeld, type Span } from "../../model/job/user-hold.ts";
import { isEnded, type Task } from "../../model/job/task.ts";
import type { Lane } from "../../scheduler/queue/lane.ts";
import type { QueuedJobRecord } from "../../scheduler/queue/queued-jobs.ts";
import { mustGiveUp, unplacedOf } from "../../model/energy-progress.ts";
import { ShareTasks } from "../energy/share-tasks.ts";
import { ArrayTasks } from "./array-tasks.ts";
import type { Progress } from "../../model/progress.ts";
import { freshProgress, isAtTaskLimit } from "../../model/progress.ts";

/**
 * A job in memory: its row, the rows of its tasks that differ from the default, and derived values.
 * Changed only by State.apply.
 */
export class JobRecord implements QueuedJobRecord {
  job: Job;
  /** The job's stored row, if it is available: folding an ended job uses it. */
  rowText: string | undefined = undefined;
  progress: Progress;
  /** Of the last change of its row or of one of its tasks. */
  revision: Revision;
  /** Of its row. */
  rowRevision: Revision;
  /** The lane of the queue that holds it. */
  lane: Lane | undefined = undefined;
  /**
   * It is not placed before a time: its start time, or the end of the backoff after a failed share
   * of its energy.
   */
  isBackingOff = false;
  // A single task needs no table.
  #tasks: Task | ArrayTasks | ShareTasks | undefined = undefined;
  /** Of the row of its only task. */
  #taskRevision: Revision = NO_REVISION;
  /** Positions that may never have been placed, in order; undefined: all. */
  #unplaced: Span[] | undefined = undefined;
  /** Indexes to place again, smallest first. May include some that are no longer pending. */
  #returned: Heap<number> | undefined = undefined;
  /** Indexes to place again that are on hold. */
  #returnedOnHold: number[] | undefined = undefined;

  constructor(job: Job, revision: Revision) {
    this.job = job;
    this.revision = revision;
    this.rowRevision = revision;
    this.progress = freshProgress(job.spec);
  }

  /**
   * One task, never placed, without any decision: the row is the whole state. Excludes jobs with
   * dependencies and updated jobs: their rows are written again, and jobs are folded in order of
   * their ids.
   */
  get isUntouched(): boolean {
    const { closed, spec, changedBy } = this.job;
    const { array, beginAtMs } = spec.terms;
    const isPlain = array === undefined && beginAtMs === undefined && spec.dependsOn === undefined;
    return this.#tasks === undefined && closed === undefined && changedBy === undefined && isPlain;
  }

  /** Replaces the row. */
  replaceJob(job: Job): void {
    this.job = job;
    const waiting = this.#returnedOnHold ?? [];
    this.#returnedOnHold = undefined;
    for (const index of waiting) this.addReturned(index);
  }

  /** Whether a user holds the task in the queue. */
  isOnHold(index: number): boolean {
    const { hold } = this.job;
    return hold !== undefined && isHeldAt(hold, positionOf(this.ranges, index));
  }

  /**
   * For a job with energy: the shares made so far, and one more for the energy that is not placed.
   */
  get ranges(): IndexRanges {
    if (this.job.spec.energy === undefined) return rangesOf(this.job.spec);
    const count = this.#sharesMade + (unplacedOf(this.job, this.progress) > 0 ? 1 : 0);
    return count === 0 ? [] : [{ first: 0, last: count - 1, step: 1 }];
  }

  /** The number of indexes in use. */
  get #sharesMade(): number {
    return this.#tasks instanceof ShareTasks ? this.#tasks.next : 0;
  }

  task(index: number): Task | undefined {
    const tasks = this.#tasks;
    if (tasks instanceof ArrayTasks || tasks instanceof ShareTasks) return tasks.get(index);
    return tasks?.index === index ? tasks : undefined;
  }

  /** Of the task's row; a task without a row has the revision of its job. */
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

  /** Its row was written, or one of its tasks changed. */
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

  /** The rows of tasks that have not ended: few in an array that is nearly complete. */
  openTaskRows(): Iterable<Task> {
    if (isTable(this.#tasks)) return this.#tasks.open();
    return this.#tasks === undefined || isEnded(this.#tasks.state) ? [] : [this.#tasks];
  }

  /** Rows that may hold more than how, where and when a task ended: few in most arrays. */
  detailedTaskRows(): Iterable<Task> {
    return this.#tasks instanceof ArrayTasks ? this.#tasks.detailed() : this.taskRows();
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
  addReturned(index: number): void {
    this.#returned ??= new Heap((a, b) => a < b);
    this.#returned.push(index);
  }

  /** The next index to place, or undefined when none is left. Does not remove it. */
  nextIndex(): number | undefined {
    if (this.job.closed !== undefined || isWhollyHeld(this.job.hold)) return undefined;
    if (this.isBackingOff || isAtTaskLimit(this.job, this.progress)) return undefined;
    if (this.job.spec.energy !== undefined) return this.#nextShare();
    return this.#nextReturned() ?? this.#nextUnplaced();
  }

  #nextReturned(): number | undefined {
    for (;;) {
      const index = this.#returned?.peek();
      if (index === undefined) return undefined;
      const isWaiting = this.task(index)?.state.kind === "waiting";
      const isOnHold = isWaiting && this.isOnHold(index);
      if (isWaiting && !isOnHold) return index;
      if (isOnHold) (this.#returnedOnHold ??= []).push(index);
      this.#returned?.pop(); // placed or cancelled since
    }
  }

  /** Visits each position once, also where tasks are on hold: their spans stay until they are released. */
  #nextUnplaced(): number | undefined {
    if (this.job.spec.array === undefined) return this.#tasks === undefined ? 0 : undefined;
    const { ranges } = this;
    const spans = (this.#unplaced ??= [{ first: 0, last: countIndexes(ranges) - 1 }]);
    for (let at = 0; at < spans.length;) {
      const span = spans[at];
      const index = span && indexAt(ranges, span.first);
      if (span === undefined || index === undefined) return undefined;
      const held = heldSpanAt(this.job.hold?.tasks ?? [], span.first);
      if (held !== undefined && held.last < span.last) {
        const on = { first: span.first, last: held.last };
        spans.splice(at, 1, on, { first: held.last + 1, last: span.last });
        at++;
      } else if (held !== undefined) at++;
      else if (this.task(index) === undefined) return index;
      // Placed or cancelled since.
      else if (span.first === span.last) spans.splice(at, 1);
      else spans[at] = { first: span.first + 1, last: span.last };
    }
    return undefined;
  }

  #nextShare(): number | undefined {
    const mayPlace =
      unplacedOf(this.job, this.progress) > 0 && !mustGiveUp(this.job, this.progress);
    return mayPlace ? this.#sharesMade : undefined;
  }

  /** How many of its unplaced tasks precede `index`: for explain. */
  positionOf(index: number): number {
    const first = this.#unplaced?.[0]?.first ?? 0;
    return Math.max(0, positionOf(this.ranges, index) - first);
  }
}

const isTable = (
  tasks: Task | ArrayTasks | ShareTasks | undefined,
): tasks is ArrayTasks | ShareTasks => tasks instanceof ArrayTasks || tasks instanceof ShareTasks;
