import { AppError } from "../../../../lib/errors.ts";
import type { ActiveState, Task } from "../../../model/job/task.ts";
import type { Change } from "../../change.ts";
import type { CommandOf, Decision } from "../../command.ts";
import type { JobRecord } from "../../jobs/job-record.ts";
import type { State } from "../../state.ts";
import { type ActiveTask, isActiveTask, requeued, startOf } from "../tasks/end-attempt.ts";
import { howToStartAgain, openJobToChange, shownReason } from "./job-to-change.ts";

type Requeue = CommandOf<"requeue-job">;

/**
 * Tasks on nodes get another attempt: their agents stop them first. On a lost node no agent can stop it now, as with a cancellation; that
 * agent stops the run when it returns.
 */
export function requeueJob(state: State, command: Requeue): Decision<undefined> {
  const record = openJobToChange(state, command);
  const { job } = record;
  if (job.spec.energy !== undefined) {
    throw new AppError(
      "conflict",
      `job ${job.id} is split by energy, and energy that its shares do not use is split again by itself`,
    );
  }
  const given = { ...command, reason: shownReason(command.reason) };
  const rows =
    command.index === undefined
      ? requeueAll(state, record, given)
      : [requeueOne(state, record, command.index, given)];
  const changes = rows.map((row): Change => ({ table: "task", row }));
  return { changes, answer: undefined };
}

function requeueAll(state: State, record: JobRecord, command: Requeue): Task[] {
  const { id } = record.job;
  const rows: Task[] = [];
  for (const task of record.openTaskRows()) {
    if (task.state.kind === "accepted")
      throw notOurs(`task ${id}.${task.index}`, task.state.cluster);
    if (isActiveTask(task) && task.state.kind !== "stopping")
      rows.push(stopped(state, task, command));
  }
  if (rows.length === 0) {
    throw new AppError(
      "conflict",
      `no task of job ${id} is on a node: there is nothing to requeue`,
    );
  }
  return rows;
}

function requeueOne(state: State, record: JobRecord, index: number, command: Requeue): Task {
  const name = `task ${record.job.id}.${index}`;
  const task = record.task(index);
  if (task?.state.kind === "accepted") throw notOurs(name, task.state.cluster);
  if (task !== undefined && "endedAtMs" in task.state) {
    throw new AppError(
      "conflict",
      `${name} has ended: ${task.state.kind}; ${howToStartAgain(record.job)}`,
    );
  }
  if (task === undefined || !isActiveTask(task)) {
    throw new AppError("conflict", `${name} is on no node: there is nothing to requeue`);
  }
  if (task.state.kind === "stopping") {
    throw new AppError("conflict", `${name} is being stopped: ${task.state.reason}`);
  }
  return stopped(state, task, command);
}

const notOurs = (what: string, cluster: string): AppError =>
  new AppError(
    "conflict",
    `${what} was accepted by cluster ${cluster}, which runs it by itself; cancel it and submit it again`,
  );

function stopped({ nodes, jobs }: State, task: ActiveTask, { reason, nowMs }: Requeue): Task {
  const { nodeId, assignedAtMs } = task.state;
  const startedAtMs = startOf(task.state);
  const at = { kind: "stopping", nodeId, assignedAtMs, startedAtMs, reason } as const;
  const state: ActiveState = { ...at, isRequeued: true };
  const row = { ...task, state };
  const isLost = nodes.get(nodeId)?.node.link.kind === "lost";
  const job = jobs.get(task.jobId)?.job;
  return isLost && job !== undefined ? requeued(row, { endedAtMs: nowMs, nowMs }) : row;
}
