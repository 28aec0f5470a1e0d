import { backoffMs, type Closing, type Job } from "../../model/job/job.ts";
import { describeFailure, isOwnFailure, type Task } from "../../model/job/task.ts";
import type { Change } from "../change.ts";
import { isActiveTask } from "../decide/tasks/end-attempt.ts";
import type { JobRecord } from "../jobs/job-record.ts";
import type { Progress } from "../../model/progress.ts";
import type { State } from "../state.ts";

/** The time at which the undone part of an ended share may be placed again; 0: at once. */
export function retryAtMs(job: Job, { energy }: Progress, { state }: Task): number {
  if (state.kind !== "failed" || !isOwnFailure(state.failure)) return 0;
  return state.endedAtMs + backoffMs(job.spec.retries, Math.max(1, energy?.failures ?? 1));
}

/**
 * The next change of a job that is given up: first its row, which closes it, then one by one its running shares, which are stopped. Apply
 * each before the next call.
 */
export function nextGivenUp(state: State, nowMs: number): Change | undefined {
  for (const id of state.failing) {
    const record = state.jobs.getOpen(id);
    if (record?.job.closed === undefined && record !== undefined) {
      return { table: "job", row: { ...record.job, closed: closingOf(record, nowMs) } };
    }
    for (const task of record?.openTaskRows() ?? []) {
      if (!isActiveTask(task) || task.state.kind === "stopping") continue;
      const { nodeId, assignedAtMs } = task.state;
      const startedAtMs = task.state.kind === "running" ? task.state.startedAtMs : undefined;
      const reason = "another share of its job failed";
      const stopping = { kind: "stopping", nodeId, assignedAtMs, startedAtMs, reason } as const;
      return { table: "task", row: { ...task, state: stopping } };
    }
    state.failing.delete(id);
  }
  return undefined;
}

function closingOf(record: JobRecord, atMs: number): Closing {
  let why = "its shares were lost too often";
  for (const { index, state } of record.taskRows()) {
    if (state.kind !== "failed") continue;
    const { failure } = state;
    const isLast = failure.kind === "lost" && failure.isLast === true;
    if (isLast || isOwnFailure(failure)) why = `share ${index} ${describeFailure(state.failure)}`;
  }
  return { kind: "failed", atMs, by: "busbar", reason: why };
}
