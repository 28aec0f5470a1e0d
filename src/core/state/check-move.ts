import { invariant } from "../../lib/invariant.ts";
import { canMove, type Task } from "../model/job/task.ts";
import type { State } from "./state.ts";

/** Asserts that the tables of transitions allow a change; called for the changes that `decide` makes. */
export function checkMove(state: State, row: Task): void {
  const before = state.task(row)?.state;
  invariant(
    canMove(before, row.state),
    `task ${row.jobId}.${row.index} moves from ${before?.kind ?? "pending"} to ${row.state.kind}`,
  );
}
