import type { IndexRanges } from "../../model/job/array-range.ts";
import { countIndexes, indexAt } from "../../model/job/array-range.ts";
import type { ClusterId, JobId, Revision } from "../../model/ids.ts";
import type { Task } from "../../model/job/task.ts";
import { isEnded } from "../../model/job/task.ts";
import { RevisionColumn } from "./columns/revision-column.ts";
import { TaskColumns, TaskTables } from "./columns/task-columns.ts";

/** The number of array positions that share a block of columns. */
export const TASKS_PER_BLOCK = 4_096;

/**
 * The rows of an array's tasks. Ended rows are final and the majority, so they are stored in
 * columns; open rows are objects.
 */
export class ArrayTasks {
  readonly #jobId: JobId;
  readonly #ranges: IndexRanges;
  readonly #total: number;
  /** The position of the first index of each range. */
  readonly #starts: readonly number[];
  readonly #open = new Map<number, Task>();
  /** The number of open rows in each block. */
  readonly #openIn: number[] = [];
  readonly #ended: (TaskColumns | undefined)[] = [];
  /** Of all rows, open and ended. */
  readonly #revisions: (RevisionColumn | undefined)[] = [];
  readonly #tables = new TaskTables();
  readonly #offeredTo = new Map<ClusterId, number>();
  #endedCount = 0;

  constructor(jobId: JobId, ranges: IndexRanges) {
    this.#jobId = jobId;
    this.#ranges = ranges;
    this.#total = countIndexes(ranges);
    const starts: number[] = [];
    let start = 0;
    for (const range of ranges) {
      starts.push(start);
      start += countIndexes([range]);
    }
    this.#starts = starts;
  }

  get size(): number {
    return this.#open.size + this.#endedCount;
  }

  get(index: number): Task | undefined {
    const open = this.#open.get(index);
    if (open !== undefined || this.#endedCount === 0) return open;
    const position = this.#positionOf(index);
    if (position === undefined) return undefined;
    const block = this.#ended[blockOf(position)];
    return block?.get(position % TASKS_PER_BLOCK, this.#jobId, index);
  }

  revisionOf(index: number): Revision | undefined {
    const position = this.#positionOf(index);
    if (position === undefined) return undefined;
    const column = this.#revisions[blockOf(position)];
    const at = position % TASKS_PER_BLOCK;
    return column?.has(at) === true ? column.get(at) : undefined;
  }

  set(task: Task, revision: Revision): void {
    const { index, state } = task;
    const before = this.#open.get(index);
    if (before?.state.kind === "offered") this.#countOffer(before.state.cluster, -1);
    if (state.kind === "offered") this.#countOffer(state.cluster, 1);
    const position = this.#positionOf(index) ?? 0;
    const at = blockOf(position);
    this.#revisionsAt(at).put(position % TASKS_PER_BLOCK, revision);
    const hasEnded = isEnded(state);
    const more = (hasEnded ? 0 : 1) - (before === undefined ? 0 : 1);
    if (more !== 0) this.#openIn[at] = (this.#openIn[at] ?? 0) + more;
    if (!hasEnded) {
      this.#tables.note(task);
      this.#open.set(index, task);
      return;
    }
    if (before !== undefined) this.#open.delete(index);
    this.#endedBlock(at).put(position % TASKS_PER_BLOCK, task);
    this.#endedCount++;
  }

  /** Rows of tasks that have not ended, in no order. */
  open(): Iterable<Task> {
    return this.#open.values();
  }

  /** Every row, in no order. Rows of ended tasks are decoded on each call. */
  *rows(): Generator<Task> {
    yield* this.#open.values();
    for (const [position, index] of this.#endedPlaces()) {
      const task = this.#ended[blockOf(position)]?.get(
        position % TASKS_PER_BLOCK,
        this.#jobId,
        index,
      );
      if (task !== undefined) yield task;
    }
  }

  /** Rows that may hold more than how, where and when a task ended. */
  *detailed(): Generator<Task> {
    yield* this.#open.values();
    for (const block of this.#ended) if (block !== undefined) yield* block.texts();
  }

  *indexes(): Generator<number> {
    yield* this.#open.keys();
    for (const [, index] of this.#endedPlaces()) yield index;
  }

  /** The nodes and clusters of present and past attempts, as far as rows name them. */
  get tables(): TaskTables {
    return this.#tables;
  }

  isOfferedTo(cluster: ClusterId): boolean {
    return this.#offeredTo.has(cluster);
  }

  /**
   * The content of a position's block: undefined when one of its tasks is open, so that the caller
   * must read each row; otherwise the number of its ended tasks by kind; the other tasks of the
   * block have no row.
   */
  endedKinds(position: number): TaskColumns["kinds"] | "no-rows" | undefined {
    const at = blockOf(position);
    if ((this.#openIn[at] ?? 0) > 0) return undefined;
    return this.#ended[at]?.kinds ?? "no-rows";
  }

  *#endedPlaces(): Generator<readonly [position: number, index: number]> {
    for (const [at, block] of this.#ended.entries()) {
      if (block === undefined) continue;
      const first = at * TASKS_PER_BLOCK;
      const size = Math.min(TASKS_PER_BLOCK, this.#total - first);
      for (let place = 0; place < size; place++) {
        if (!block.has(place)) continue;
        const index = indexAt(this.#ranges, first + place);
        if (index !== undefined) yield [first + place, index];
      }
    }
  }

  #endedBlock(at: number): TaskColumns {
    let block = this.#ended[at];
    if (block === undefined) {
      while (this.#ended.length < at) this.#ended.push(undefined);
      block = new TaskColumns(this.#sizeOf(at), this.#tables);
      this.#ended[at] = block;
    }
    return block;
  }

  #revisionsAt(at: number): RevisionColumn {
    let column = this.#revisions[at];
    if (column === undefined) {
      while (this.#revisions.length < at) this.#revisions.push(undefined);
      column = new RevisionColumn(this.#sizeOf(at));
      this.#revisions[at] = column;
    }
    return column;
  }

  #sizeOf(block: number): number {
    return Math.min(TASKS_PER_BLOCK, this.#total - block * TASKS_PER_BLOCK);
  }

  #countOffer(cluster: ClusterId, more: number): void {
    const count = (this.#offeredTo.get(cluster) ?? 0) + more;
    if (count === 0) this.#offeredTo.delete(cluster);
    else this.#offeredTo.set(cluster, count);
  }

  /** The position of an index; undefined: the array has no such task. */
  #positionOf(index: number): number | undefined {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#ranges[middle]?.first ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    const range = this.#ranges[low];
    if (range === undefined || index < range.first || index > range.last) return undefined;
    const steps = (index - range.first) / range.step;
    return Number.isInteger(steps) ? (this.#starts[low] ?? 0) + steps : undefined;
  }
}

const blockOf = (position: number): number => Math.floor(position / TASKS_PER_BLOCK);
