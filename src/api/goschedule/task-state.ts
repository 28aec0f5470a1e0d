import type { NodeStateName } from "../../core/model/node/node.ts";
import type { TaskFailure } from "../../core/model/job/task.ts";
import type { TaskStateName } from "../../core/model/progress.ts";
import type { NewestTaskView } from "../../server/views/views.ts";

/** The four words that go-schedule has for a task. Its clients compare them as strings. */
export type GoScheduleState = "pending" | "scheduled" | "done" | "dead";

/** Exhaustive by type: a new state does not compile until go-schedule has a word for it. */
const OF_TASK: Readonly<Record<Exclude<TaskStateName, "failed">, GoScheduleState>> = {
  pending: "pending",
  waiting: "pending",
  offered: "pending",
  accepted: "scheduled",
  held: "pending", // it has not begun, and may still begin elsewhere
  assigned: "scheduled",
  running: "scheduled",
  stopping: "scheduled",
  succeeded: "done",
  cancelled: "dead",
  expired: "dead",
  skipped: "dead",
};

/**
 * Done is a task that ended by itself with any result: the old system uses it for every exit code and for missing programs. Dead is a task
 * that the scheduler gave up, or that exceeded its time limit, like one that outlived dead_timeout.
 */
const OF_FAILURE: Readonly<Record<TaskFailure["kind"], GoScheduleState>> = {
  exited: "done",
  signalled: "done",
  "could-not-start": "done",
  "node-fault": "dead",
  "time-limit": "dead",
  "out-of-memory": "done",
  vanished: "dead",
  lost: "dead",
  requeued: "dead",
};

export const taskStateOf = ({
  state,
  failure,
}: Pick<NewestTaskView, "state" | "failure">): GoScheduleState =>
  state === "failed" ? OF_FAILURE[failure ?? "lost"] : OF_TASK[state];

export type WorkerState = "connected" | "disconnected";

/** Drained and unhealthy nodes are connected: their tasks continue. */
export const workerStateOf: Readonly<Record<NodeStateName, WorkerState>> = {
  connected: "connected",
  draining: "connected",
  drained: "connected",
  unhealthy: "connected",
  quarantined: "connected",
  disconnected: "disconnected",
  lost: "disconnected",
};
