import { OrderedTree } from "../../lib/collections/ordered-tree.ts";
import type { JobId } from "../model/ids.ts";
import { type Deadline, deadlineOf, type Job } from "../model/job/job.ts";

/** The queue deadlines of jobs that have neither ended nor been closed. Follows State.apply. */
export class Deadlines {
  readonly #byJob = new Map<JobId, Deadline>();
  readonly #inOrder = new OrderedTree<Deadline>({
    before: (a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.id < b.id),
  });

  get size(): number {
    return this.#byJob.size;
  }

  get next(): Deadline | undefined {
    return this.#inOrder.min;
  }

  /** Deadlines that have passed, earliest first. They stay until their jobs are closed. */
  *due(nowMs: number): Iterable<Deadline> {
    for (const deadline of this.#inOrder) {
      if (deadline.atMs > nowMs) return;
      yield deadline;
    }
  }

  add(job: Job): void {
    const atMs = deadlineOf(job);
    if (atMs === undefined) return;
    const deadline = { atMs, id: job.id };
    this.#byJob.set(job.id, deadline);
    this.#inOrder.insert(deadline);
  }

  /** The job has ended, or was closed or removed. */
  remove(id: JobId): void {
    const deadline = this.#byJob.get(id);
    if (deadline === undefined) return;
    this.#byJob.delete(id);
    this.#inOrder.remove(deadline);
  }
}
