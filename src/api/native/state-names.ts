import type { NodeStateName } from "../../core/model/node/node.ts";
import type { JobStateName, TaskStateName } from "../../core/model/progress.ts";
import { State } from "../../gen/busbar/v1/busbar_pb.ts";
import { invalid } from "../../lib/errors.ts";
import { nearest } from "../../lib/nearest.ts";

/** Exhaustive by type: a new state does not compile until the wire has a number for it. */
export const stateOf: Readonly<Record<TaskStateName, State>> = {
  pending: State.PENDING,
  waiting: State.WAITING,
  assigned: State.ASSIGNED,
  running: State.RUNNING,
  stopping: State.STOPPING,
  succeeded: State.SUCCEEDED,
  failed: State.FAILED,
  cancelled: State.CANCELLED,
  expired: State.EXPIRED,
  skipped: State.SKIPPED,
  offered: State.OFFERED,
  accepted: State.ACCEPTED,
  held: State.HELD,
};

// Records, because they are exhaustive by type and lists are not.
const JOB_STATES: Readonly<Record<JobStateName, true>> = {
  pending: true,
  accepted: true,
  running: true,
  succeeded: true,
  failed: true,
  cancelled: true,
  expired: true,
  skipped: true,
};
const NODE_STATES: Readonly<Record<NodeStateName, true>> = {
  connected: true,
  disconnected: true,
  draining: true,
  drained: true,
  lost: true,
  unhealthy: true,
  quarantined: true,
};

export const taskStateNames = Object.keys(stateOf) as readonly TaskStateName[];
export const jobStateNames = Object.keys(JOB_STATES) as readonly JobStateName[];
export const nodeStateNames = Object.keys(NODE_STATES) as readonly NodeStateName[];

export function fromTaskState(state: State, field: string): TaskStateName {
  const name = taskStateNames.find((known) => stateOf[known] === state);
  if (name === undefined) throw invalid(field, `${state} is not a state`);
  return name;
}

export function fromJobState(state: State, field: string): JobStateName {
  const name = fromTaskState(state, field);
  if (name in JOB_STATES) return name as JobStateName;
  throw invalid(field, `${name} is a state of tasks only; jobs have ${jobStateNames.join(", ")}`);
}

export function fromNodeState(text: string, field: string): NodeStateName {
  if (Object.hasOwn(NODE_STATES, text)) return text as NodeStateName;
  const meant = nearest(text, nodeStateNames);
  const hint = meant === undefined ? `use ${nodeStateNames.join(", ")}` : `did you mean ${meant}?`;
  throw invalid(field, `${JSON.stringify(text.slice(0, 40))} is not a state of a node; ${hint}`);
}
