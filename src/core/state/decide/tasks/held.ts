import { AppError } from "../../../../lib/errors.ts";
import type { ActiveState, HeldState, Task } from "../../../model/job/task.ts";
import { mayHold } from "../../../model/node/node.ts";
import { whereMatches } from "../../../scheduler/filters/where-matches.ts";
import { verifyTask } from "../../../scheduler/verify.ts";
import type { JobRecord } from "../../jobs/job-record.ts";
import type { NodeRecord } from "../../nodes/node-record.ts";
import { rowOfAttempt } from "./place-task.ts";

export type HeldTask = Task & { readonly state: HeldState };

export const isHeldTask = (task: Task): task is HeldTask => task.state.kind === "held";

/** Fetches a task ahead to a node, if the judge agrees. */
export function holdTask(record: JobRecord, index: number, node: NodeRecord, nowMs: number): Task {
  const refusal = verifyTask(record, index) ?? verifyHold(record, node);
  if (refusal !== undefined) throw new AppError("conflict", refusal);
  const state = { kind: "held", nodeId: node.node.id, heldAtMs: nowMs } as const;
  return rowOfAttempt(record, index, state);
}

/** What the node has free does not matter: it begins in the place of another that requested the same. */
function verifyHold({ job: { spec } }: JobRecord, record: NodeRecord): string | undefined {
  const { node } = record;
  if (!mayHold(node)) return `node ${node.id} holds no tasks`;
  if (spec.request !== undefined) return "tasks that request parts of a graph are not held";
  const allowed = whereMatches.check(spec, record);
  return allowed.kind === "yes" ? undefined : allowed.reason;
}

/** The agent has begun it by itself: from now on it uses what it requests. */
export function begun(task: HeldTask): Task & { readonly state: ActiveState } {
  const { nodeId, heldAtMs: assignedAtMs, takeBack } = task.state;
  if (takeBack?.isCancel !== true) {
    return { ...task, state: { kind: "assigned", nodeId, assignedAtMs, isBegun: true } };
  }
  const { reason } = takeBack;
  const state = { kind: "stopping", nodeId, assignedAtMs, startedAtMs: undefined, reason } as const;
  return { ...task, state };
}

/** The agent has not begun it, and never will: the attempt was not made, and its number is free. */
export function returned(task: HeldTask, nowMs: number): Task {
  const { takeBack } = task.state;
  const attempt = task.attempt - 1;
  if (takeBack?.isCancel === true) {
    const { reason } = takeBack;
    const at = { nodeId: undefined, startedAtMs: undefined, endedAtMs: nowMs } as const;
    return { ...task, attempt, state: { kind: "cancelled", ...at, reason } };
  }
  const waiting = { kind: "waiting", notBeforeMs: nowMs } as const;
  return { ...task, attempt, state: attempt === 0 ? { ...waiting, isFresh: true } : waiting };
}

/** Asks for it back; undefined: that was done already. */
export function takenBack(task: HeldTask, reason: string, isCancel = false): Task | undefined {
  const { takeBack } = task.state;
  if (takeBack !== undefined && (takeBack.isCancel || !isCancel)) return undefined;
  return { ...task, state: { ...task.state, takeBack: { reason, isCancel } } };
}
