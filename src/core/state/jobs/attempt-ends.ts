import { isEnded, type Task } from "../../model/job/task.ts";
import type { Fleet } from "../../scheduler/nodes/fleet.ts";
import type { JobRecord } from "./job-record.ts";
import type { NodeRecord } from "../../scheduler/nodes/node-record.ts";
import type { State } from "../state.ts";

/** An attempt has left its node: records what its end says about the health of the node. */
export function attemptEnded(
  fleet: Fleet,
  { job }: JobRecord,
  node: NodeRecord,
  { before, after }: { readonly before: Task; readonly after: Task },
): void {
  fleet.suspicions.left(node.node, before, after);
  node.runTimes.ended(job.spec, after);
  fleet.ahead.taskEnded(node);
}

/** Updates the tasks that nodes hold ahead. A held task uses no capacity. */
export function heldMoved(
  { fleet, nodes, nodeTotals }: Pick<State, "fleet" | "nodes" | "nodeTotals">,
  record: JobRecord,
  before: Task | undefined,
  after: Task,
): void {
  if (before?.state.kind !== "held" && after.state.kind !== "held") return;
  fleet.ahead.moved(before, after);
  const from = before?.state.kind === "held" ? nodes.get(before.state.nodeId) : undefined;
  const to = after.state.kind === "held" ? nodes.get(after.state.nodeId) : undefined;
  if (from !== undefined && before !== undefined) {
    nodeTotals.drop(from, before);
    // It started and ended in one report: no row ever showed it in use.
    const isOver = isEnded(after.state) || after.past !== before.past;
    const wasMade = after.attempt === before.attempt;
    if (isOver && wasMade) attemptEnded(fleet, record, from, { before, after });
  }
  if (to !== undefined) nodeTotals.hold(to, after);
}
