import { hasIndexes } from "../../../core/model/job/job.ts";
import type { JobRecord } from "../../../core/state/jobs/job-record.ts";
import { formatDuration } from "../../../lib/units.ts";

/** Tasks whose nodes have not reported their start: one may copy a large image first. Undefined: there are none. */
export function explainAssigned(record: JobRecord, nowMs: number): string | undefined {
  const { assigned } = record.progress.counts;
  if (assigned === 0) return undefined;
  const state = hasIndexes(record.job.spec) ? undefined : record.task(0)?.state;
  if (state?.kind !== "assigned") {
    const tasks = assigned === 1 ? "1 task is" : `${assigned} tasks are`;
    return `${tasks} assigned and not reported as started yet`;
  }
  const age = formatDuration(Math.max(0, Math.floor((nowMs - state.assignedAtMs) / 1_000)) * 1_000);
  return `it was assigned to node ${state.nodeId} ${age} ago, which has not reported its start yet`;
}
