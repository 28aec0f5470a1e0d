import type { LossPolicy, Node } from "../../src/core/model/node/node.ts";
import type { Task } from "../../src/core/model/job/task.ts";
import { isActive } from "../../src/core/model/job/task.ts";
import type { Verdict } from "./checkers.ts";
import type { BatchMoves, Durable, RowMove } from "./durable.ts";
import { formatRun } from "./durable.ts";

/**
 * The tasks of a lost node follow its policy: a node that keeps its tasks loses none while it is disconnected, and a task that fails with
 * its node gets no second attempt. Clients remove nodes; those do not count.
 */
export function lossesFollowPolicy(durable: Durable, moves: BatchMoves): Verdict {
  for (const move of moves.tasks) {
    const id = lostFrom(move);
    const before = moves.nodesBefore.get(id ?? "");
    const after = durable.nodes.get(id ?? "");
    if (before === undefined || after === undefined || move.after === undefined) continue;
    const policy = policyOf(before);
    if (policy !== policyOf(after)) continue;
    const run = formatRun(move.after);
    if (policy === "keep" && isStillAway(before, after)) {
      return `${run} was lost with node ${id}, which keeps its tasks`;
    }
    if (policy === "fail" && move.after.state.kind === "waiting") {
      return `${run} is tried again, though what is lost with node ${id} fails`;
    }
  }
  return undefined;
}

/** The node with which the attempt was lost in this batch. */
function lostFrom({ before, after }: RowMove<Task>): string | undefined {
  if (before === undefined || after === undefined || !isActive(before.state)) return undefined;
  const last = after.past.at(-1);
  const failure =
    after.state.kind === "failed"
      ? after.state.failure
      : last?.attempt === before.attempt
        ? last.failure
        : undefined;
  return failure?.kind === "lost" ? before.state.nodeId : undefined;
}

/** Not the product's own: a mutation of that must not blind its judge. */
const policyOf = ({ clusterAgent, loss }: Node): LossPolicy =>
  clusterAgent?.onLost ?? loss?.onLost ?? "requeue";

/** No report of it arrived meanwhile. */
const isStillAway = (before: Node, after: Node): boolean =>
  before.link.kind !== "connected" &&
  after.link.kind !== "connected" &&
  before.link.sinceMs === after.link.sinceMs;
