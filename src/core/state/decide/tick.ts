import { limits } from "../../../limits.ts";
import type { Change } from "../change.ts";
import type { CommandOf, Decision, TickSettings } from "../command.ts";
import type { JobRecord } from "../job-record.ts";
import { endOf, isJobEnded } from "../progress.ts";
import type { State } from "../state.ts";
import { disconnected, loseNode } from "./nodes.ts";

/** Whatever time alone brings about: deadlines, lost nodes, removal of what ended long ago. */
export function tick(state: State, { nowMs, settings }: CommandOf<"tick">): Decision<undefined> {
  const changes: Change[] = [];
  expireJobs(state, nowMs, changes);
  for (const record of state.disconnected) {
    const { link } = record.node;
    if (link.kind === "disconnected" && link.sinceMs + settings.nodeLostAfterMs <= nowMs) {
      changes.push(...loseNode(state, record, nowMs));
    }
  }
  removeEnded(state, nowMs, settings, changes);
  return { changes, answer: undefined };
}

/** When `tick` has something to do next, as far as is known now. */
export function nextTickMs(state: State, settings: TickSettings): number | undefined {
  let next = state.deadlines.peek()?.atMs ?? Number.POSITIVE_INFINITY;
  for (const { node } of state.disconnected) {
    next = Math.min(next, node.link.sinceMs + settings.nodeLostAfterMs);
  }
  const oldest = state.endedJob(0);
  if (oldest !== undefined) {
    const isSurplus = state.endedTasks > settings.finishedTasksMax;
    next = Math.min(next, removalMs(oldest, settings, isSurplus));
  }
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

function expireJobs(state: State, nowMs: number, changes: Change[]): void {
  for (;;) {
    const due = state.deadlines.peek();
    if (due === undefined || due.atMs > nowMs) return;
    // Taking it off is safe even if the tick came to nothing: it is added again when the row is
    // read back, and a passed deadline stays passed.
    state.deadlines.pop();
    const record = state.jobs.get(due.id);
    if (record === undefined || record.job.closed !== undefined) continue;
    // With every task on a node it is closed too: one that fails is not tried again.
    if (isJobEnded(record.progress)) continue;
    const closed = {
      kind: "expired",
      atMs: nowMs,
      by: "busbar",
      reason: "its deadline in the queue passed",
    } as const;
    changes.push({ table: "job", row: { ...record.job, closed } });
  }
}

/** When an ended job goes. Also when there are too many, whoever waits for it sees its end first. */
function removalMs(
  { job, progress }: JobRecord,
  { finishedAgeMsMax }: TickSettings,
  isSurplus: boolean,
): number {
  const keptMs = isSurplus ? Math.min(limits.finishedAgeMsMin, finishedAgeMsMax) : finishedAgeMsMax;
  return endOf(job, progress) + keptMs;
}

function removeEnded(state: State, nowMs: number, settings: TickSettings, changes: Change[]): void {
  let surplus = state.endedTasks - settings.finishedTasksMax;
  for (let at = 0; at < limits.removalsPerTickMax; at++) {
    const record = state.endedJob(at);
    if (record === undefined) return;
    if (removalMs(record, settings, surplus > 0) > nowMs) return;
    surplus -= record.taskRowCount;
    const indexes = Array.from(record.taskRows(), ({ index }) => index);
    changes.push({ table: "job", removed: record.job.id, indexes });
  }
}

/** After a start of the server no agent is connected, whatever the rows say. */
export function recover(state: State, { nowMs }: CommandOf<"recover">): Decision<undefined> {
  const changes: Change[] = [];
  for (const { node } of state.nodes.values()) {
    if (node.link.kind === "connected") changes.push(disconnected(node, nowMs));
  }
  return { changes, answer: undefined };
}
