import type { NodeId } from "../../core/model/ids.ts";
import type { Task } from "../../core/model/job/task.ts";
import type { JobRecord } from "../../core/state/jobs/job-record.ts";
import type { Queued } from "../../gen/busbar/v1/agent_pb.ts";
import { limits } from "../../limits.ts";

/** Limits the tasks that are checked: an array may have very many. */
const TASKS_LOOKED_AT = 10_000;
const REASONS_NAMED = 5;

/**
 * Why tasks are queued in a scheduler below, as agents last reported. Not stored: an
 * agent reports it again in its next session.
 */
export class QueueReasons {
  readonly #byNode = new Map<NodeId, ReadonlyMap<string, string>>();

  /** Replaces all earlier reasons of the node's agent. */
  replace(nodeId: NodeId, { groups }: Pick<Queued, "groups">): void {
    const reasons = new Map<string, string>();
    for (const { reason, runs } of groups.slice(0, limits.queueReasonsToldMax)) {
      const text = reason.slice(0, limits.reasonLengthMax);
      for (const { job, index, attempt } of runs) {
        if (reasons.size >= limits.queuedRunsToldMax) break;
        reasons.set(keyOf(job, index, attempt), text);
      }
    }
    if (reasons.size === 0) this.#byNode.delete(nodeId);
    else this.#byNode.set(nodeId, reasons);
  }

  drop(nodeId: NodeId): void {
    this.#byNode.delete(nodeId);
  }

  /** undefined: it is not queued below, or its agent reported no reason. */
  of(task: Task | undefined): string | undefined {
    if (this.#byNode.size === 0 || task?.state.kind !== "assigned") return undefined;
    const reasons = this.#byNode.get(task.state.nodeId);
    return reasons?.get(keyOf(task.jobId, task.index, task.attempt));
  }

  /** "2 tasks wait in slurm: Resources; 1 task waits in slurm: Priority"; undefined: none does. */
  describe(record: JobRecord): string | undefined {
    if (this.#byNode.size === 0 || record.progress.counts.assigned === 0) return undefined;
    const counts = new Map<string, number>();
    let looked = 0;
    for (const task of record.openTaskRows()) {
      if (looked++ >= TASKS_LOOKED_AT) break;
      const reason = this.of(task);
      if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    if (counts.size === 0) return undefined;
    const sorted = [...counts].toSorted(([, a], [, b]) => b - a);
    const parts = sorted
      .slice(0, REASONS_NAMED)
      .map(
        ([reason, count]) => `${count === 1 ? "1 task waits" : `${count} tasks wait`} in ${reason}`,
      );
    const more = sorted.length - parts.length;
    return [...parts, ...(more > 0 ? [`and ${more} more reasons`] : [])].join("; ");
  }
}

const keyOf = (job: number, index: number, attempt: number): string => `${job}.${index}.${attempt}`;
