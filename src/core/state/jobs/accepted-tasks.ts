import type { ClusterId } from "../../model/ids.ts";
import type { Task } from "../../model/job/task.ts";
import { type AcceptedTask, isAcceptedTask } from "../decide/tasks/end-attempt.ts";

/** Tasks that pull clusters have accepted and run. Follows State.apply. */
export class AcceptedTasks {
  /** The task with the oldest report first. */
  readonly #tasks = new Set<AcceptedTask>();
  /** Characters of output that clusters reported, over all tasks. */
  reportedChars = 0;

  moved(before: Task | undefined, after: Task | undefined): void {
    if (before !== undefined && isAcceptedTask(before)) this.#tasks.delete(before);
    if (after !== undefined && isAcceptedTask(after)) this.#tasks.add(after);
    this.reportedChars += charsOf(after) - charsOf(before);
  }

  /** Restores the order after rows were read back, which come in the order of their keys. */
  sort(): void {
    const sorted = [...this.#tasks].sort((a, b) => a.state.heardAtMs - b.state.heardAtMs);
    this.#tasks.clear();
    for (const task of sorted) this.#tasks.add(task);
  }

  inOrder(): Iterable<AcceptedTask> {
    return this.#tasks;
  }

  of(cluster: ClusterId): readonly AcceptedTask[] {
    return [...this.#tasks].filter(({ state }) => state.cluster === cluster);
  }
}

const charsOf = (task: Task | undefined): number =>
  task?.told === undefined ? 0 : task.told.stdout.length + task.told.stderr.length;
