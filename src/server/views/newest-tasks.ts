import { indexAt } from "../../core/model/job/array-range.ts";
import { formatTaskId, type JobId } from "../../core/model/ids.ts";
import { hasIndexes, type Job } from "../../core/model/job/job.ts";
import { describeFailure, type TaskState } from "../../core/model/job/task.ts";
import type { JobRecord } from "../../core/state/jobs/job-record.ts";
import {
  isJobEnded,
  type TaskCounts,
  type TaskStateName,
  taskStateName,
} from "../../core/model/progress.ts";
import type { State } from "../../core/state/state.ts";
import { limits } from "../../limits.ts";
import type { OperationContext } from "../operations/create-operations.ts";
import { lowerBound, UNFOLDING_LOOKS } from "./list-jobs.ts";
import type { CallerOperations, NewestTasksQuery, TaskPlace } from "../operations/operations.ts";
import type { NewestTaskView } from "./views.ts";

/**
 * Tasks of all jobs, for doors without jobs. Views of whole jobs, with a request for the tasks of each,
 * would take ten times as long. Reads in slices: each task is shown as it was in its slice.
 */
export const createNewestTasksOperation = ({
  loop,
}: OperationContext): Pick<CallerOperations, "listNewestTasks"> => ({
  async listNewestTasks(_caller, query) {
    const page = new NewestTasks(query);
    let openTotal = 0;
    await loop.readSlices((state) => {
      openTotal = openIn(state.totals.tasks);
      return page.slice(state);
    });
    const { tasks, next } = page;
    return { tasks, openTotal, ...(next === undefined ? {} : { next }) };
  },
});

/** Exhaustive by type: whether a task in this state has ended. */
const IS_OVER: Readonly<Record<TaskStateName, boolean>> = {
  pending: false,
  waiting: false,
  offered: false,
  held: false,
  accepted: false,
  assigned: false,
  running: false,
  stopping: false,
  succeeded: true,
  failed: true,
  cancelled: true,
  expired: true,
  skipped: true,
};

const openIn = (counts: TaskCounts): number => {
  let open = 0;
  for (const [name, count] of Object.entries(counts)) {
    if (!IS_OVER[name as TaskStateName]) open += count;
  }
  return open;
};

/** One page from the newest job down. Checks a bounded number of jobs and tasks. */
export class NewestTasks {
  readonly tasks: NewestTaskView[] = [];
  /** The number of checked tasks: for tests. */
  looks = 0;
  readonly #isOpenOnly: boolean;
  /** The position of the next slice: undefined at first, and when everything was checked. */
  #next: TaskPlace | undefined;
  #until = 0;

  constructor({ from, isOpenOnly }: NewestTasksQuery) {
    this.#next = from;
    this.#isOpenOnly = isOpenOnly;
  }

  /** The position of the next page; undefined: there is none. */
  get next(): TaskPlace | undefined {
    return this.#next;
  }

  /** Checks some tasks; returns whether the page is complete. */
  slice(state: State): boolean {
    this.#until = Math.min(this.looks + limits.listSliceLooks, limits.newestTasksScanMax);
    this.#next = this.#scan(state);
    return this.#next === undefined || this.#hasNoRoom || this.looks >= limits.newestTasksScanMax;
  }

  get #hasNoRoom(): boolean {
    return this.tasks.length >= limits.newestTasksPageMax;
  }

  get #isOver(): boolean {
    return this.#hasNoRoom || this.looks >= this.#until;
  }

  #scan(state: State): TaskPlace | undefined {
    const order = state.jobOrder;
    const from = this.#next;
    // A job with unread tasks, and the jobs before it.
    let at = from === undefined ? order.length : lowerBound(order, from.job + 1);
    let position = from !== undefined && order[at - 1] === from.job ? from.position : 0;
    for (; at > 0; at--) {
      const id = order[at - 1] as JobId;
      if (this.#isOver) return { job: id, position };
      const left = this.#addJob(state, id, position);
      if (left !== undefined) return { job: id, position: left };
      position = 0;
    }
    return undefined;
  }

  /** Returns the position of the first task that no longer fits. */
  #addJob(state: State, id: JobId, from: number): number | undefined {
    this.looks++;
    if (this.#isOpenOnly && state.jobs.foldedEnd(id) !== undefined) return undefined;
    if (state.jobs.getOpen(id) === undefined) this.looks += UNFOLDING_LOOKS;
    const record = state.jobs.get(id);
    if (record === undefined || (this.#isOpenOnly && isJobEnded(record.progress))) return undefined;
    for (let position = from; ; position++) {
      const index = indexAt(record.ranges, position);
      if (index === undefined) return undefined;
      if (this.#isOver && position > from) return position;
      this.looks++;
      const task = show(record, index);
      if (!this.#isOpenOnly || !task.isOver) this.tasks.push(task);
    }
  }
}

function show(record: JobRecord, index: number): NewestTaskView {
  const { job } = record;
  const { spec } = job;
  const task = record.task(index);
  const state = taskStateName(job, task?.state);
  const at = task?.state;
  const node = at !== undefined && "nodeId" in at ? at.nodeId : undefined;
  const cluster = at !== undefined && "cluster" in at ? at.cluster : undefined;
  const reason = at === undefined ? job.closed?.reason : reasonOf(job, at);
  return {
    id: formatTaskId(job.id, index, hasIndexes(spec)),
    jobId: String(job.id),
    index,
    attempt: task?.attempt ?? 0,
    state,
    isOver: IS_OVER[state],
    command: spec.work.kind === "command" ? spec.work.argv : [spec.name],
    ...(node === undefined ? {} : { node }),
    ...(cluster === undefined ? {} : { cluster }),
    ...(reason === undefined ? {} : { reason }),
    ...(at?.kind === "failed" ? { failure: at.failure.kind } : {}),
  };
}

function reasonOf({ closed }: Job, at: TaskState): string | undefined {
  if (at.kind === "failed") return describeFailure(at.failure);
  if (at.kind === "waiting") return closed?.reason;
  return "reason" in at ? at.reason : undefined;
}
