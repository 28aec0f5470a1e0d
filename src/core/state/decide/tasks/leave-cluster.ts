import { submitterTo } from "../../../access/principal.ts";
import { clusterId, type ClusterId } from "../../../model/ids.ts";
import type { Job } from "../../../model/job/job.ts";
import type { Task } from "../../../model/job/task.ts";
import type { Change } from "../../change.ts";
import type { State } from "../../state.ts";
import { isEverPossible } from "./check-possible.ts";
import { withdrawn } from "./end-attempt.ts";
import { inCluster } from "../../jobs/cluster-specs.ts";

/**
 * Moves a task that was offered to a cluster which is deleted. It returns to the queue. A job that came
 * with the cluster's token goes to the next cluster whose token came with it, or is cancelled: a later
 * cluster of this name must not get it.
 */
export function leaveCluster(
  state: State,
  task: Task,
  { id, by, nowMs }: { readonly id: ClusterId; readonly by: string; readonly nowMs: number },
): Change[] {
  const back: Change = { table: "task", row: withdrawn(task, nowMs) };
  const job = state.jobs.get(task.jobId)?.job;
  const isByToken =
    job !== undefined && (job.alternatives !== undefined || job.submittedBy === submitterTo(id));
  if (!isByToken) return [back];
  const moved = elsewhere(state, job, id);
  if (moved !== undefined) return [{ table: "job", row: moved }, back];
  const reason = `cluster ${id} was deleted`;
  const closed = { kind: "cancelled", atMs: nowMs, by, reason } as const;
  const ended = { nodeId: undefined, startedAtMs: undefined, endedAtMs: nowMs, reason };
  return [
    { table: "job", row: { ...job, closed } },
    { table: "task", row: { ...task, state: { kind: "cancelled", ...ended } } },
  ];
}

/** The same job for the first of its other clusters that could run it; undefined: there is none. */
function elsewhere(state: State, job: Job, id: ClusterId): Job | undefined {
  const left = [...(job.alternatives ?? [])];
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    if (next === id || state.clusters.get(clusterId(next))?.kind !== "pulling") continue;
    const spec = inCluster(job.spec, next);
    if (isEverPossible(state, spec)) return { ...job, spec, alternatives: left };
  }
  return undefined;
}
