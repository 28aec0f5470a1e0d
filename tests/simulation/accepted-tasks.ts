import type { Task } from "../../src/core/model/job/task.ts";
import type { Verdict } from "./checkers.ts";
import type { BatchMoves, Durable, RowMove } from "./durable.ts";
import { formatRun } from "./durable.ts";

/** An offered task is accepted by its own cluster, or by an agent of that; an accepted task stays there. */
export function oneTakerEach(durable: Durable, { tasks }: BatchMoves): Verdict {
  for (const { before, after } of tasks) {
    if (before === undefined || after === undefined || before.attempt !== after.attempt) continue;
    const [from, to] = [clusterOf(durable, before), clusterOf(durable, after)];
    const isHandedOn = before.state.kind === "accepted" && after.state.kind === "assigned";
    if (isHandedOn) return `${formatRun(after)} was accepted and is given to an agent`;
    if (before.state.kind !== "offered" && before.state.kind !== "accepted") continue;
    if (from === undefined || to === undefined || from === to) continue;
    return `${formatRun(after)} was ${before.state.kind} in ${from} and is in ${to}`;
  }
  return undefined;
}

function clusterOf({ nodes }: Durable, { state }: Task): string | undefined {
  if ("cluster" in state && state.cluster !== undefined) return state.cluster;
  const node = "nodeId" in state ? state.nodeId : undefined;
  return node === undefined ? undefined : nodes.get(node)?.cluster;
}

/** An accepted task ends as its cluster reported for this same attempt. */
export function endsWereTold(told: ReadonlySet<string>, moves: readonly RowMove<Task>[]): Verdict {
  for (const { after } of moves) {
    if (after === undefined || !("cluster" in after.state)) continue;
    const { state } = after;
    if (state.kind === "failed" && state.failure.kind === "lost") continue;
    if (state.kind !== "succeeded" && state.kind !== "failed") continue;
    if (told.has(`${formatRun(after)} ${state.kind}`)) continue;
    return `${formatRun(after)} ${state.kind}, and its cluster never said so`;
  }
  return undefined;
}
