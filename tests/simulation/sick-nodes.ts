import type { Node } from "../../src/core/model/node/node.ts";
import type { Task } from "../../src/core/model/job/task.ts";
import { limits } from "../../src/limits.ts";
import type { Verdict } from "./checkers.ts";
import type { BatchMoves, Durable, RowMove } from "./durable.ts";
import { formatRun } from "./durable.ts";

/** A node that cannot start processes costs no task a retry, and gets none while it reports that. */
export function sickNodesCostNothing(durable: Durable, moves: BatchMoves): Verdict {
  for (const move of moves.tasks) {
    const verdict = returnsCostNothing(durable, move) ?? goesToNoSickNode(durable, moves, move);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

function returnsCostNothing({ jobs }: Durable, { before, after }: RowMove<Task>): Verdict {
  if (after === undefined) return undefined;
  const returned = after.returns ?? 0;
  if (returned > (before?.returns ?? 0) && after.failures !== (before?.failures ?? 0)) {
    return `${formatRun(after)} was given back by its node and has ${after.failures} failures`;
  }
  const { state } = after;
  if (state.kind !== "failed" || state.failure.kind !== "node-fault") return undefined;
  const isAllowed = returned >= limits.returnsMax || jobs.get(after.jobId)?.closed !== undefined;
  return isAllowed ? undefined : `${formatRun(after)} failed for its node's reasons`;
}

/** The node that the task was placed on in this batch. */
function newNodeOf({ before, after }: RowMove<Task>): string | undefined {
  if (after === undefined || after.attempt === before?.attempt) return undefined;
  const { kind } = after.state;
  return kind === "assigned" || kind === "held" ? after.state.nodeId : undefined;
}

function goesToNoSickNode(
  { nodes }: Durable,
  { nodesBefore }: BatchMoves,
  move: RowMove<Task>,
): Verdict {
  const id = newNodeOf(move) ?? "";
  // Within one batch it may have become unhealthy after the placement, or recovered before it.
  const wasSick = nodesBefore.get(id)?.sickness !== undefined;
  // Or it was healthy in a session that another took over.
  const [before, after] = [nodesBefore.get(id)?.link, nodes.get(id)?.link];
  if (before?.kind !== "connected" || after?.kind !== "connected") return undefined;
  if (before.session !== after.session) return undefined;
  if (!wasSick || nodes.get(id)?.sickness === undefined) return undefined;
  return `task ${move.after?.jobId}.${move.after?.index} was placed on ${id}, which is sick`;
}

/** Different jobs failed on a quarantined node, and it gets one task at a time. */
export function quarantinesAreDue(durable: Durable, moves: BatchMoves): Verdict {
  for (const [id, node] of durable.nodes) {
    const before = moves.nodesBefore.get(id);
    if (node.quarantine === undefined) continue;
    if (before?.quarantine === undefined) {
      const jobs = jobsFailedOn(durable, id);
      if (jobs < limits.quarantineJobs) return `node ${id} is quarantined for ${jobs} jobs`;
    } else {
      const verdict = getsOnlyItsTrial(node, moves);
      if (verdict !== undefined) return verdict;
    }
  }
  return undefined;
}

function getsOnlyItsTrial({ id, quarantine }: Node, { tasks }: BatchMoves): Verdict {
  for (const move of tasks) {
    if (newNodeOf(move) !== id || move.after === undefined) continue;
    const phase = quarantine?.phase;
    const isTrial = phase?.kind === "trial" && formatRun(phase) === formatRun(move.after);
    if (!isTrial) return `${formatRun(move.after)} was placed on ${id}, which is quarantined`;
  }
  return undefined;
}

/** The number of jobs that ever had a failed attempt there. */
function jobsFailedOn({ ever }: Durable, node: string): number {
  const jobs = new Set<number>();
  for (const { jobId, state, past } of ever.tasks()) {
    const isFailed = state.kind === "failed" && state.nodeId === node;
    if (isFailed || past.some(({ nodeId }) => nodeId === node)) jobs.add(jobId);
  }
  return jobs.size;
}
