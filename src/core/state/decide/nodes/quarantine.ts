import { limits } from "../../../../limits.ts";
import type { Node, Quarantine } from "../../../model/node/node.ts";
import type { Change } from "../../change.ts";
import type { State } from "../../state.ts";

/**
 * The next node that is quarantined, tried again or released, for what ended on it. Looks at the
 * newest state, so each must be applied before the next is asked for.
 *
 *   closed --time--> open --a task is placed--> trial --it works--> released
 *      ^                                          |
 *      +----------- it fails at once -------------+  (and the wait doubles)
 */
export function nextQuarantine(state: State, nowMs: number): Change | undefined {
  for (;;) {
    const id = state.fleet.suspicions.next();
    if (id === undefined) return undefined;
    const node = state.nodes.get(id)?.node;
    if (node === undefined) continue;
    const row =
      node.quarantine === undefined
        ? quarantined(state, node, nowMs)
        : tried(state, node, node.quarantine, nowMs);
    if (row !== undefined) return { table: "node", row };
  }
}

function quarantined(state: State, node: Node, nowMs: number): Node | undefined {
  const { suspicions } = state.fleet;
  const { terms } = suspicions;
  const jobs = suspicions.evidence(node, nowMs);
  if (jobs.length < terms.jobs || !mayBeSpared(state, node)) return undefined;
  const last = jobs.slice(-terms.jobs).join(", ");
  const reason =
    `${jobs.length} jobs in a row failed here within ${terms.quickMs} ms of their start ` +
    `(the latest: ${last})`;
  return { ...node, quarantine: closedFor(state, { strikes: 1, reason, sinceMs: nowMs }, nowMs) };
}

/** At most half of the nodes of a cluster that would take tasks: if more look bad, it is the jobs. */
function mayBeSpared(state: State, { cluster }: Node): boolean {
  let [all, spared] = [0, 0];
  for (const { node } of state.fleet.inCluster(cluster)) {
    const { link, drain, sickness, clusterAgent, quarantine } = node;
    if (link.kind !== "connected" || drain !== undefined || sickness !== undefined) continue;
    if (clusterAgent !== undefined) continue;
    all++;
    if (quarantine !== undefined) spared++;
  }
  return 2 * (spared + 1) <= all;
}

function closedFor(state: State, why: Omit<Quarantine, "phase">, nowMs: number): Quarantine {
  const { firstMs } = state.fleet.suspicions.terms;
  const waitMs = firstMs * 2 ** Math.min(why.strikes - 1, 20);
  const untilMs = nowMs + Math.min(limits.quarantineMsMax, waitMs);
  return { ...why, phase: { kind: "closed", untilMs } };
}

/** Something ended on a quarantined node: if it was its trial, that is over. */
function tried(state: State, node: Node, quarantine: Quarantine, nowMs: number): Node | undefined {
  const { phase, reason, sinceMs, strikes } = quarantine;
  if (phase.kind !== "trial") return undefined;
  const task = state.task(phase);
  const verdict =
    task === undefined ? "nothing" : state.fleet.suspicions.verdictOn(task, phase.attempt);
  switch (verdict) {
    case undefined: // it goes on
      return undefined;
    case "worked":
      return released(node);
    case "failed-at-once":
      // A job that fails everywhere says nothing: the next one is tried.
      if (state.fleet.suspicions.isPoison(phase.jobId)) return opened(node, quarantine);
      return {
        ...node,
        quarantine: closedFor(state, { reason, sinceMs, strikes: strikes + 1 }, nowMs),
      };
    case "nothing":
      return opened(node, quarantine);
  }
}

export function released(node: Node): Node {
  const { quarantine: _quarantine, ...row } = node;
  return row;
}

const opened = (node: Node, quarantine: Quarantine): Node => ({
  ...node,
  quarantine: { ...quarantine, phase: { kind: "open" } },
});

/** What time alone brings to quarantined nodes: they take a task, or their trial has lasted. */
export function tickQuarantines(state: State, nowMs: number): Change[] {
  const changes: Change[] = [];
  for (const { node } of state.fleet.suspicions.quarantined) {
    const { quarantine } = node;
    if (quarantine === undefined || (dueAtMs(state, quarantine) ?? nowMs + 1) > nowMs) continue;
    const row =
      quarantine.phase.kind === "closed"
        ? opened(node, quarantine)
        : (tried(state, node, quarantine, nowMs) ?? released(node));
    changes.push({ table: "node", row });
  }
  return changes;
}

/** When `tickQuarantines` has something to do for it; undefined: not before something else happens. */
export function dueAtMs(state: State, { phase }: Quarantine): number | undefined {
  if (phase.kind === "closed") return phase.untilMs;
  if (phase.kind === "open") return undefined;
  const task = state.task(phase);
  // It ended just before the server did.
  if (task === undefined || state.fleet.suspicions.verdictOn(task, phase.attempt) !== undefined)
    return 0;
  return task.state.kind === "running"
    ? task.state.startedAtMs + state.fleet.suspicions.terms.quickMs
    : undefined;
}
