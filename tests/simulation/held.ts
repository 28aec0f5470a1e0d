import type { Node } from "../../src/core/model/node/node.ts";
import type { Verdict } from "./checkers.ts";
import type { BatchMoves, Durable } from "./durable.ts";
import { formatRun } from "./durable.ts";
import type { World } from "./world.ts";

/** A returned task was never begun, and a node that accepts no tasks holds none. */
export function heldIsNeverBoth(
  durable: Durable,
  moves: BatchMoves,
  executions: ReadonlyMap<string, string>,
): Verdict {
  for (const { before, after } of moves.tasks) {
    if (before?.state.kind !== "held" || after === undefined) continue;
    const ranOn = after.attempt < before.attempt ? executions.get(formatRun(before)) : undefined;
    if (ranOn !== undefined) return `${formatRun(before)} was given back and ran on ${ranOn}`;
  }
  for (const task of durable.tasks.values()) {
    const { state } = task;
    if (state.kind !== "held" || state.takeBack !== undefined) continue;
    const node = durable.nodes.get(state.nodeId);
    if (node?.link.kind === "connected" && takesNone(node)) {
      return `${formatRun(task)} is held by ${state.nodeId}, which takes no tasks`;
    }
  }
  return undefined;
}

const takesNone = ({ drain, sickness, quarantine }: Node): boolean =>
  drain !== undefined || sickness !== undefined || quarantine !== undefined;

/** Long after a held task must have been begun or taken back. */
const HELD_MS_MAX = 75_000; // a single flush may take 30 s

/** Nothing is held for long where everything works. */
export function checkHeld({ witness, timeline, server, network, hosts }: World): void {
  const { durable } = witness;
  for (const task of durable.tasks.values()) {
    const { state } = task;
    if (state.kind !== "held" || !server.isUp) continue;
    const host = hosts.find(({ name }) => name === state.nodeId);
    const link = durable.nodes.get(state.nodeId)?.link;
    if (host?.isUp !== true || link?.kind !== "connected") continue;
    const wellSinceMs = Math.max(
      state.heldAtMs,
      link.sinceMs,
      host.startedAtMs,
      server.startedAtMs,
      network.troubledAtMs(host.name),
    );
    const isLate = timeline.nowMs - wellSinceMs > HELD_MS_MAX;
    const text = isLate ? `${formatRun(task)} is held by ${host.name} for too long` : undefined;
    witness.judge("held-is-begun-or-back", text);
  }
}
