import type { ClusterId } from "../../model/ids.ts";
import type { Task } from "../../model/job/task.ts";
import { type AcceptedTask, isAcceptedTask } from "../decide/tasks/end-attempt.ts";

/** Tasks that clusters took to run them by themselves. Follows State.apply. */
export class HandedTasks {
  /** The one that was heard of longest ago first. */
  readonly #tasks = new Set<AcceptedTask>();
  /** Characters of output that clusters told, of all tasks there are. */
  toldChars = 0;

  moved(before: Task | undefined, after: Task | undefined): void {
    if (before !== undefined && isAcceptedTask(before)) this.#tasks.delete(before);
    if (after !== undefined && isAcceptedTask(after)) this.#tasks.add(after);
    this.toldChars += charsOf(after) - charsOf(before);
  }

  /** After rows were read back, which come in the order of their keys. */
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
