import { invariant } from "../../../lib/invariant.ts";
import type { JobId } from "../../model/ids.ts";
import type { JobTable } from "./job-table.ts";

/** Ended jobs, in the order in which they ended: the oldest are removed first. */
export class EndedJobs {
  readonly #jobs: JobTable;
  #ids: JobId[] = [];
  #head = 0;
  /** The rows of their tasks. */
  tasks = 0;

  constructor(jobs: JobTable) {
    this.#jobs = jobs;
  }

  get count(): number {
    return this.#ids.length - this.#head;
  }

  /** The job that ended first, `skip` further on. */
  oldest(skip: number): JobId | undefined {
    return this.#ids[this.#head + skip];
  }

  add(id: JobId, taskRows: number): void {
    this.#ids.push(id);
    this.tasks += taskRows;
  }

  /** Restores the order after jobs were added in another one. */
  sort(): void {
    const ends = this.#ids.map((id) => this.#jobs.endOf(id));
    const ids = this.#ids;
    const order = ids.map((_, at) => at);
    order.sort((a, b) => (ends[a] ?? 0) - (ends[b] ?? 0) || (ids[a] ?? 0) - (ids[b] ?? 0));
    this.#ids = order.map((at) => ids[at] as JobId);
  }

  removeOldest(id: JobId, taskRows: number): void {
    invariant(this.oldest(0) === id, "jobs are removed in the order they ended");
    this.#head++;
    this.tasks -= taskRows;
    if (this.#head < 1_024 || this.#head * 2 <= this.#ids.length) return;
    this.#ids = this.#ids.slice(this.#head);
    this.#head = 0;
  }
}
