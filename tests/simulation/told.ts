import type { RunEvent, RunId, ServerMessage } from "../../src/gen/busbar/v1/agent_pb.ts";
import type { Verdict } from "./checkers.ts";
import type { Durable, Run } from "./durable.ts";
import { formatRun } from "./durable.ts";

export const toRun = ({ job, index, attempt }: RunId): Run => ({ jobId: job, index, attempt });

/** Messages to an agent depend on rows that are on the disk at that moment. */
export function agentIsTold(
  durable: Durable,
  node: string,
  message: ServerMessage["message"],
): Verdict {
  if (message.case === "work") {
    return (
      first(message.value.starts, (run) => startIsDurable(durable, node, toRun(run))) ??
      first(message.value.holds, ({ id }) => id && startIsDurable(durable, node, toRun(id))) ??
      first(message.value.returns, (run) => returnIsDurable(durable, node, toRun(run))) ??
      first(message.value.stops, (run) => stopIsDurable(durable, node, toRun(run)))
    );
  }
  if (message.case !== "welcome" || durable.nodes.get(node)?.link.kind === "connected") {
    return undefined;
  }
  return `node ${node} is welcomed and not connected on the disk`;
}

/** A later attempt may be on the disk already; an earlier one may not. */
function startIsDurable(durable: Durable, node: string, run: Run): Verdict {
  if (durable.assignedTo.get(formatRun(run)) === node) return undefined;
  return `${node} is told to start ${formatRun(run)}, which is not on the disk`;
}

function stopIsDurable(durable: Durable, node: string, run: Run): Verdict {
  const kind = durable.task(run)?.state.kind;
  if (!durable.isWanted(run, node) || kind === "stopping") return undefined;
  return `${node} is told to stop ${formatRun(run)}, which is ${kind} on the disk`;
}

/** It may have begun it, or returned it, meanwhile. */
function returnIsDurable(durable: Durable, node: string, run: Run): Verdict {
  const state = durable.task(run)?.state;
  if (!durable.isWanted(run, node) || state?.kind !== "held" || state.takeBack) return undefined;
  return `${node} is told to give back ${formatRun(run)}, which is not on the disk`;
}

/** An Ack means that ends are durable: none of them may still count as under way. */
export function endsAreDurable(
  durable: Durable,
  node: string,
  events: readonly RunEvent[],
): Verdict {
  return first(endsOf(events), (run) =>
    durable.isWanted(run, node)
      ? `the end of ${formatRun(run)} on ${node} is acknowledged and not on the disk`
      : undefined,
  );
}

export const endsOf = (events: readonly RunEvent[]): Run[] =>
  events.flatMap(({ id, event }) =>
    id !== undefined && event.case === "ended" ? [toRun(id)] : [],
  );

/** Answers and events name the revision that they depend on. */
export const revisionIsDurable = (durable: Durable, what: string, revision: number): Verdict =>
  revision <= durable.revision
    ? undefined
    : `${what} shows revision ${revision}; the disk has ${durable.revision}`;

function first<T>(items: Iterable<T>, judge: (item: T) => Verdict): Verdict {
  for (const item of items) {
    const verdict = judge(item);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}
