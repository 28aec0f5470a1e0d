import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Node } from "../../model/node.ts";
import { visible } from "../../model/texts.ts";
import type { CommandOf, Decision } from "../command.ts";
import type { State } from "../state.ts";

/** An agent cannot start processes, or can again. Its running tasks go on either way. */
export function reportHealth(
  state: State,
  { nodeId, session, sickness, nowMs }: CommandOf<"report-health">,
): Decision<undefined> {
  const node = state.nodes.get(nodeId)?.node;
  if (node?.link.kind !== "connected" || node.link.session !== session) {
    throw new AppError("conflict", `this is no longer the session of node ${nodeId}`);
  }
  const { sickness: before, ...well } = node;
  const row = { ...well, ...sicknessOf(sickness, node, nowMs) };
  if (row.sickness?.reason === before?.reason) return { changes: [], answer: undefined };
  return { changes: [{ table: "node", row }], answer: undefined };
}

/** Agents are not trusted: people read their reasons. One that goes on keeps its beginning. */
export function sicknessOf(
  told: string | undefined,
  known: Node | undefined,
  nowMs: number,
): Pick<Node, "sickness"> {
  if (told === undefined) return {};
  const reason = visible(told, limits.reasonLengthMax);
  return { sickness: { reason, sinceMs: known?.sickness?.sinceMs ?? nowMs } };
}
