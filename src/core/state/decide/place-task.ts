import { AppError } from "../../../lib/errors.ts";
import type { Task } from "../../model/task.ts";
import type { Placement } from "../../scheduler/plan.ts";
import { verify } from "../../scheduler/verify.ts";
import type { Change } from "../change.ts";

/** Turns a proposal of the planner into a change, if the judge agrees. */
export function placeTask(placement: Placement, nowMs: number): Change {
  const refusal = verify(placement);
  if (refusal !== undefined) throw new AppError("conflict", refusal);
  const { record, index, node } = placement;
  const before = record.task(index);
  const row: Task = {
    jobId: record.job.id,
    index,
    attempt: (before?.attempt ?? 0) + 1,
    failures: before?.failures ?? 0,
    losses: before?.losses ?? 0,
    past: before?.past ?? NO_PAST,
    state: { kind: "assigned", nodeId: node.node.id, assignedAtMs: nowMs },
  };
  return { table: "task", row };
}

const NO_PAST: Task["past"] = Object.freeze([]);
