import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import { hasIndex } from "../../../model/job/array-range.ts";
import type { NodeId } from "../../../model/ids.ts";
import type { ActiveState, Task } from "../../../model/job/task.ts";
import { ranBy } from "../../../model/job/task.ts";
import { visible } from "../../../model/texts.ts";
import type { Change } from "../../change.ts";
import type { CommandOf, Decision } from "../../command.ts";
import type { JobRecord } from "../../jobs/job-record.ts";
import { isJobEnded } from "../../../model/progress.ts";
import type { State } from "../../state.ts";
import { checkRevision } from "../if-revision.ts";
import { failForGood, isActiveTask, isToRequeue, startOf } from "./end-attempt.ts";
import { begun, isHeldTask, takenBack } from "./held.ts";

/**
 * Tasks that have not started end at once; agents stop the running ones. Tasks that a lost node keeps end at
 * once, too, because it is unknown when its agent returns; the agent stops the run then. Ended tasks stay.
 */
export function cancelJob(state: State, given: CommandOf<"cancel-job">): Decision<undefined> {
  const record = state.jobs.get(given.jobId);
  if (record === undefined) throw new AppError("not_found", `there is no job ${given.jobId}`);
  checkRevision(`job ${given.jobId}`, record.revision, given);
  const command = { ...given, reason: visible(given.reason, limits.reasonLengthMax) };
  const changes =
    command.index === undefined
      ? cancelAll(state, record, command)
      : cancelOne(state, record, command.index, command);
  return { changes, answer: undefined };
}

function cancelAll(state: State, record: JobRecord, command: CommandOf<"cancel-job">): Change[] {
  const { job, progress } = record;
  if (isJobEnded(progress)) return [];
  const { nowMs: atMs, by, reason } = command;
  const changes: Change[] = [];
  if (job.closed === undefined) {
    changes.push({
      table: "job",
      row: { ...job, closed: { kind: "cancelled", atMs, by, reason } },
    });
  }
  for (const task of record.openTaskRows()) {
    const row = isNotOurs(task) ? cancelled(task, command) : stopped(state, task, command);
    if (row !== undefined) changes.push({ table: "task", row });
  }
  return changes;
}

function cancelOne(
  state: State,
  record: JobRecord,
  index: number,
  command: CommandOf<"cancel-job">,
): Change[] {
  const { jobId } = command;
  if (!hasIndex(record.ranges, index)) {
    throw new AppError("not_found", `job ${jobId} has no task ${index}`);
  }
  const task = record.task(index);
  if (task === undefined && record.job.spec.energy !== undefined) {
    throw new AppError(
      "conflict",
      `this share of job ${jobId} is not placed: cancel the whole job`,
    );
  }
  // Tasks that were pending when the job was closed have ended with it.
  const isWaiting = task === undefined || task.state.kind === "waiting";
  if (record.job.closed !== undefined && isWaiting) return [];
  if (isWaiting || isNotOurs(task)) {
    const base = task ?? { jobId, index, attempt: 0, failures: 0, losses: 0, past: [], state: NEW };
    return [{ table: "task", row: cancelled(base, command) }];
  }
  const row = stopped(state, task, command);
  return row === undefined ? [] : [{ table: "task", row }];
}

const NEW: Task["state"] = { kind: "waiting", notBeforeMs: 0 };

/** No agent of ours has it: the cluster that accepted it learns of the end when it next reports the task. */
const isNotOurs = ({ state }: Task): boolean =>
  state.kind === "offered" || state.kind === "accepted";

/** Tasks that no agent has begun end at once. */
function cancelled(task: Task, { nowMs: endedAtMs, reason }: CommandOf<"cancel-job">): Task {
  const { state } = task;
  const ran = state.kind === "accepted" ? ranBy(state) : { nodeId: undefined };
  const startedAtMs = state.kind === "accepted" ? state.startedAtMs : undefined;
  return { ...task, state: { kind: "cancelled", ...ran, startedAtMs, endedAtMs, reason } };
}

/** The task in state stopping; undefined when there is nothing to stop. */
function stopped(
  { nodes }: State,
  task: Task,
  { reason, nowMs }: CommandOf<"cancel-job">,
): Task | undefined {
  const isLost = (id: NodeId): boolean => nodes.get(id)?.node.link.kind === "lost";
  if (isHeldTask(task) && !isLost(task.state.nodeId)) return takenBack(task, reason, true);
  const given = isHeldTask(task) ? begun(task) : task;
  if (!isActiveTask(given)) return undefined;
  if (given.state.kind === "stopping" && !isToRequeue(given)) return undefined;
  const { nodeId, assignedAtMs } = given.state;
  const startedAtMs = startOf(given.state);
  const state: ActiveState = { kind: "stopping", nodeId, assignedAtMs, startedAtMs, reason };
  const row = { ...given, state };
  return isLost(nodeId) ? failForGood(row, reason, nowMs) : row;
}
