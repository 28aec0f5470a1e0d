import { type ActiveState, type HeldTask, isHeldTask, type Task } from "../../../model/job/task.ts";
import type { AheadProposal, AheadRound } from "../../../scheduler/fetch-ahead.ts";
import { countTurn } from "../../../scheduler/plan.ts";
import { verifyHold } from "../../../scheduler/verify.ts";
import type { State } from "../../state.ts";
import { rowOfAttempt, type Refused } from "./place-task.ts";

export { type HeldTask, isHeldTask };

/**
 * The row of the next task to fetch ahead to a node or to take back, if `verify` accepts it; undefined:
 * there is none for now.
 */
export function fetchNext(
  state: State,
  round: AheadRound,
  nowMs: number,
): { readonly kind: "row"; readonly row: Task } | Refused | undefined {
  for (;;) {
    const proposal = round.next();
    if (proposal === undefined) return undefined;
    if (proposal.kind === "hold") return holdTask(state, proposal, nowMs);
    const row = takenBack(proposal.task, proposal.reason);
    if (row !== undefined) return { kind: "row", row };
  }
}

/** A node whose task was refused is reviewed again when a task ends there. */
function holdTask(
  state: State,
  proposal: AheadProposal & { kind: "hold" },
  nowMs: number,
): { readonly kind: "row"; readonly row: Task } | Refused {
  const { lane, record, index, node } = proposal;
  const refusal = verifyHold(state, proposal);
  if (refusal !== undefined) {
    state.fleet.ahead.reviewed(node);
    return { kind: "refused", refusal, jobId: record.job.id, index };
  }
  countTurn(state, lane);
  const held = { kind: "held", nodeId: node.node.id, heldAtMs: nowMs } as const;
  return { kind: "row", row: rowOfAttempt(record, index, held) };
}

/** The agent has begun it by itself: from now on it uses its requested resources. */
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

/** Asks the agent to return it; undefined: that was done already. */
export function takenBack(task: HeldTask, reason: string, isCancel = false): Task | undefined {
  const { takeBack } = task.state;
  if (takeBack !== undefined && (takeBack.isCancel || !isCancel)) return undefined;
  return { ...task, state: { ...task.state, takeBack: { reason, isCancel } } };
}
