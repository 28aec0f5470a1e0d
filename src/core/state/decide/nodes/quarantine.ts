import { limits } from "../../../../limits.ts";
import type { Node, Quarantine } from "../../../model/node/node.ts";
import type { Change } from "../../change.ts";
import type { State } from "../../state.ts";

/**
 * The next node that is quarantined, tried again or released after a task ended on it. Reads the newest
 * state: apply each change before the next call.
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
  if (jobs.length < terms.jobs || !mayQuarantine(state, node)) return undefined;
  const last = jobs.slice(-terms.jobs).join(", ");
  const reason =
    `${jobs.length} jobs in a row failed here within ${terms.quickMs} ms of their start ` +
    `(the latest: ${last})`;
  return { ...node, quarantine: closedFor(state, { strikes: 1, reason, sinceMs: nowMs }, nowMs) };
}

/** At most half of the ready nodes of a cluster: if more look bad, the jobs are at fault. */
function mayQuarantine(state: State, { cluster }: Node): boolean {
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

/** A task ended on a quarantined node: if it was its trial, evaluates it. */
function tried(state: State, node: Node, quarantine: Quarantine, nowMs: number): Node | undefined {
  const { phase, reason, sinceMs, strikes } = quarantine;
  if (phase.kind !== "trial") return undefined;
  const task = state.task(phase);
  const verdict =
    task === undefined ? "nothing" : state.fleet.suspicions.verdictOn(task, phase.attempt);
  switch (verdict) {
    case undefined: // it continues
      return undefined;
    case "worked":
      return released(node);
    case "failed-at-once":
      // A job that fails everywhere proves nothing: the next job is the trial.
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

/**
 * Changes of quarantined nodes that are due by time: they get a task, or their trial has lasted long
 * enough.
 */
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

/** The time at which `tickQuarantines` has work for it; undefined: not before another event. */
export function dueAtMs(state: State, { phase }: Quarantine): number | undefined {
  if (phase.kind === "closed") return phase.untilMs;
  if (phase.kind === "open") return undefined;
  const task = state.task(phase);
  // It ended just before the server stopped.
  if (task === undefined || state.fleet.suspicions.verdictOn(task, phase.attempt) !== undefined)
    return 0;
  return task.state.kind === "running"
    ? task.state.startedAtMs + state.fleet.suspicions.terms.quickMs
    : undefined;
}
