import { invariant } from "../../lib/invariant.ts";
import type { JobRecord } from "./job-record.ts";
import { endOf } from "./progress.ts";

/** Ended jobs, in the order in which they ended: the first are removed first. */
export class EndedJobs {
  #jobs: JobRecord[] = [];
  #head = 0;
  /** Rows of their tasks. */
  tasks = 0;

  get count(): number {
    return this.#jobs.length - this.#head;
  }

  /** The one that ended longest ago, `skip` further on. */
  oldest(skip: number): JobRecord | undefined {
    return this.#jobs[this.#head + skip];
  }

  add(record: JobRecord): void {
    this.#jobs.push(record);
    this.tasks += record.taskRowCount;
  }

  /** After jobs were added in another order than that in which they ended. */
  sort(): void {
    const end = ({ job, progress }: JobRecord): number => endOf(job, progress);
    this.#jobs.sort((a, b) => end(a) - end(b) || a.job.id - b.job.id);
  }

  removeOldest(record: JobRecord): void {
    invariant(this.oldest(0) === record, "jobs are removed in the order they ended");
    this.#head++;
    this.tasks -= record.taskRowCount;
    if (this.#head < 1_024 || this.#head * 2 <= this.#jobs.length) return;
    this.#jobs = this.#jobs.slice(this.#head);
    this.#head = 0;
  }
}
