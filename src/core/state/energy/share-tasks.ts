import type { Revision } from "../../model/ids.ts";
import { isEnded, type Task } from "../../model/job/task.ts";

/** The shares of a job with energy: each gets the next index when it is placed. */
export class ShareTasks {
  readonly #rows = new Map<number, Task>();
  readonly #open = new Map<number, Task>();
  readonly #revisions = new Map<number, Revision>();
  /** The next unused index. */
  next = 0;

  get size(): number {
    return this.#rows.size;
  }

  get(index: number): Task | undefined {
    return this.#rows.get(index);
  }

  revisionOf(index: number): Revision | undefined {
    return this.#revisions.get(index);
  }

  set(task: Task, revision: Revision): void {
    const { index } = task;
    this.#rows.set(index, task);
    this.#revisions.set(index, revision);
    if (isEnded(task.state)) this.#open.delete(index);
    else this.#open.set(index, task);
    this.next = Math.max(this.next, index + 1);
  }

  /** Rows of shares that have not ended. */
  open(): Iterable<Task> {
    return this.#open.values();
  }

  rows(): Iterable<Task> {
    return this.#rows.values();
  }

  indexes(): Iterable<number> {
    return this.#rows.keys();
  }
}
