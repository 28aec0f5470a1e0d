import { limits } from "../../limits.ts";

/**
 * Which receiver was shown which tasks of a cluster, and until when others are not. Accepting is open to
 * all: this only keeps receivers that run what they receive from running the same.
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

  /** Whether this receiver may be shown a task: nobody else was lately. */
  isVisible(taskId: string, receiver: string): boolean {
    const shown = this.#shown.get(taskId);
    return shown === undefined || shown.receiver === receiver || shown.untilMs <= this.#nowMs();
  }

  /** The receiver was shown them: again, for as long as the first time. */
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

  /** Accepted: nobody is shown it again, unless it is returned. */
  forget(taskIds: Iterable<string>): void {
    for (const taskId of taskIds) this.#shown.delete(taskId);
  }
}
