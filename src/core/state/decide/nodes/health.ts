import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { NodeId } from "../../../model/ids.ts";
import type { Node } from "../../../model/node/node.ts";
import { visible } from "../../../model/texts.ts";
import type { CommandOf, Decision } from "../../command.ts";
import type { State } from "../../state.ts";

/** An agent cannot start processes, or can again. Its running tasks continue either way. */
export function reportHealth(
  state: State,
  { nodeId, session, sickness, nowMs }: CommandOf<"report-health">,
): Decision<undefined> {
  const node = requireConnected(state, nodeId, session);
  const { sickness: before, ...well } = node;
  const row = { ...well, ...healthProblemOf(sickness, node, nowMs) };
  if (row.sickness?.reason === before?.reason) return { changes: [], answer: undefined };
  return { changes: [{ table: "node", row }], answer: undefined };
}

/** An agent's clock is wrong, or right again. Its reports use the server's clock either way. */
export function reportClock(
  state: State,
  { nodeId, session, aheadMs }: CommandOf<"report-clock">,
): Decision<undefined> {
  const { clockOffsetMs: before, ...rest } = requireConnected(state, nodeId, session);
  if (aheadMs === (before ?? 0)) return { changes: [], answer: undefined };
  const row: Node = aheadMs === 0 ? rest : { ...rest, clockOffsetMs: aheadMs };
  return { changes: [{ table: "node", row }], answer: undefined };
}

export function requireConnected({ nodes }: State, nodeId: NodeId, session: number): Node {
  const node = nodes.get(nodeId)?.node;
  if (node?.link.kind === "connected" && node.link.session === session) return node;
  throw new AppError("conflict", `this is no longer the session of node ${nodeId}`);
}

/** Agents are not trusted, and people read their reasons. An unhealthy state that continues keeps its start time. */
export function healthProblemOf(
  reported: string | undefined,
  known: Node | undefined,
  nowMs: number,
): Pick<Node, "sickness"> {
  if (reported === undefined) return {};
  const reason = visible(reported, limits.reasonLengthMax);
  return { sickness: { reason, sinceMs: known?.sickness?.sinceMs ?? nowMs } };
}
