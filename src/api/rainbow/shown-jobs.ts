import { limits } from "../../limits.ts";

/**
 * Which receiver has seen which tasks of a cluster, and until when others do not see them. All receivers may
 * accept: this only keeps receivers that run all tasks that they receive from running the same ones.
 */
export class ShownJobs {
  readonly #visibilityMs: number;
  readonly #nowMs: () => number;
  /** By task, in the order in which they become visible again. */
  readonly #shown = new Map<string, { readonly receiver: string; readonly untilMs: number }>();

  constructor(visibilityMs: number, nowMs: () => number) {
    this.#visibilityMs = visibilityMs;
    this.#nowMs = nowMs;
  }

  /** Whether this receiver may see a task: no other has seen it lately. */
  isVisible(taskId: string, receiver: string): boolean {
    const shown = this.#shown.get(taskId);
    return shown === undefined || shown.receiver === receiver || shown.untilMs <= this.#nowMs();
  }

  /** The receiver has received them again: hides them for the same time again. */
  show(taskIds: Iterable<string>, receiver: string): void {
    const nowMs = this.#nowMs();
    const untilMs = nowMs + this.#visibilityMs;
    for (const taskId of taskIds) {
      this.#shown.delete(taskId);
      this.#shown.set(taskId, { receiver, untilMs });
    }
    for (const [taskId, shown] of this.#shown) {
      if (shown.untilMs > nowMs && this.#shown.size <= limits.shownJobsMax) break;
      this.#shown.delete(taskId);
    }
  }

  /** Hides them from no receiver any more: no receiver has them, or one has accepted them and they may be returned. */
  reveal(taskIds: Iterable<string>): void {
    for (const taskId of taskIds) this.#shown.delete(taskId);
  }
}
