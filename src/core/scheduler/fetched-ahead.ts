import type { NodeRecord } from "./nodes/node-record.ts";
import { type HeldTask, isHeldTask, type Task } from "../model/job/task.ts";

/** The tasks that agents hold, and the nodes to review. Follows State.apply. */
export class FetchedAhead {
  /** Held tasks without a request to give them back, oldest first. */
  readonly #kept = new Set<HeldTask>();
  /** Nodes where a task ended, or whose row changed while they hold tasks. */
  readonly #toReview = new Set<NodeRecord>();

  /** The row of a held task was replaced, or a task became held. */
  moved(before: Task | undefined, after: Task): void {
    if (before !== undefined && isHeldTask(before)) this.#kept.delete(before);
    if (isHeldTask(after) && after.state.takeBack === undefined) this.#kept.add(after);
  }

  /** The held task that was fetched longest ago. */
  get oldest(): HeldTask | undefined {
    for (const task of this.#kept) return task;
    return undefined;
  }

  /** In the order in which they were fetched. */
  inOrder(): Iterable<HeldTask> {
    return this.#kept;
  }

  taskEnded(record: NodeRecord): void {
    if (record.node.canHold === true) this.#toReview.add(record);
  }

  nodeChanged(record: NodeRecord): void {
    if (record.held.size > 0) this.#toReview.add(record);
  }

  nodeRemoved(record: NodeRecord): void {
    this.#toReview.delete(record);
  }

  /** A node to review; it stays in the list until it was reviewed. */
  get toReview(): NodeRecord | undefined {
    for (const record of this.#toReview) return record;
    return undefined;
  }

  reviewed(record: NodeRecord): void {
    this.#toReview.delete(record);
  }
}
