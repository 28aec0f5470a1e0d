import { isDeepEqual } from "../../../../lib/is-deep-equal.ts";
import { limits } from "../../../../limits.ts";
import type { Node } from "../../../model/node/node.ts";
import { checkPower, reportedPower, withPower } from "../../../model/node/power.ts";
import type { Change } from "../../change.ts";
import type { CommandOf, Decision } from "../../command.ts";
import type { NodeRecord } from "../../../scheduler/nodes/node-record.ts";
import type { State } from "../../state.ts";
import { isActiveTask } from "../tasks/end-attempt.ts";
import { requireConnected } from "./health.ts";

/** The present or expected power of a node has changed. Running shares continue. */
export function reportPower(
  state: State,
  { nodeId, session, power: reported, nowMs }: CommandOf<"report-power">,
): Decision<undefined> {
  const node = requireConnected(state, nodeId, session);
  const power = reportedPower(checkPower(reported, "power"), node.power, nowMs);
  if (isDeepEqual(power, node.power)) return { changes: [], answer: undefined };
  const isSamePlace =
    node.power !== undefined &&
    node.power.isBare === power.isBare &&
    isDeepEqual(node.power.site, power.site);
  const capacity = isSamePlace ? node.capacity : withPower(node.capacity, power);
  const row: Node = { ...node, power, capacity };
  return { changes: [{ table: "node", row }], answer: undefined };
}

/**
 * The time at which shares of a node are taken back because it has no power; undefined: it has power,
 * or no share.
 */
export function takeBackAtMs({ node, tasks }: NodeRecord): number | undefined {
  const sinceMs = node.power?.noneSinceMs;
  if (sinceMs === undefined || node.link.kind === "lost") return undefined;
  for (const { share, state } of tasks) {
    if (share !== undefined && state.kind !== "stopping") return sinceMs + limits.powerlessMsMax;
  }
  return undefined;
}

/** A node without power must not delay a job: the undone part of its shares is split again when they have stopped. */
export function takeBackShares(
  state: State,
  gone: ReadonlySet<NodeRecord>,
  nowMs: number,
): Change[] {
  const changes: Change[] = [];
  for (const record of state.powerless) {
    if (gone.has(record) || (takeBackAtMs(record) ?? Number.POSITIVE_INFINITY) > nowMs) continue;
    for (const task of record.tasks) {
      if (task.share === undefined || !isActiveTask(task) || task.state.kind === "stopping")
        continue;
      const { nodeId, assignedAtMs } = task.state;
      const startedAtMs = task.state.kind === "running" ? task.state.startedAtMs : undefined;
      const reason = "its node has no power";
      const stopping = { kind: "stopping", nodeId, assignedAtMs, startedAtMs, reason } as const;
      changes.push({ table: "task", row: { ...task, state: stopping } });
    }
  }
  return changes;
}
