import { invariant } from "../../../lib/invariant.ts";
import { limits } from "../../../limits.ts";
import type { JobId } from "../../model/ids.ts";
import type { Job } from "../../model/job/job.ts";
import type { Change } from "../change.ts";
import type { CommandOf, Decision, TickSettings } from "../command.ts";
import { condense } from "../dependencies/settle.ts";
import type { NodeRecord } from "../../scheduler/nodes/node-record.ts";
import type { State } from "../state.ts";
import { lostAtMs } from "../../model/node/node.ts";
import { withdrawn } from "./tasks/end-attempt.ts";
import { withdrawOffers } from "./tasks/withdraw-offers.ts";
import { failSilent, silentAtMs } from "./tasks/accepted-tasks.ts";
import { type HeldTask, takenBack } from "./tasks/held.ts";
import { disconnected, loseNode } from "./nodes/nodes.ts";
import { takeBackAtMs as sharesBackAtMs, takeBackShares } from "./nodes/power.ts";
import { dueAtMs, tickQuarantines } from "./nodes/quarantine.ts";

/** Changes that are due by time alone: deadlines, lost nodes, removal of old jobs. */
export function tick(state: State, { nowMs, settings }: CommandOf<"tick">): Decision<undefined> {
  const changes: Change[] = [];
  const expired = expireJobs(state, nowMs);
  for (const row of expired.values()) {
    changes.push({ table: "job", row });
    // A task that no cluster has accepted has not started either: it returns to the queue and ends with
    // the job.
    for (const task of state.jobs.get(row.id)?.openTaskRows() ?? []) {
      if (task.state.kind === "offered")
        changes.push({ table: "task", row: withdrawn(task, nowMs) });
    }
  }
  const lost = [...state.disconnected].filter(
    ({ node }) => (lostAtMs(node, settings.nodeLostAfterMs) ?? Number.POSITIVE_INFINITY) <= nowMs,
  );
  for (const record of lost) changes.push(...loseNode(state, record, nowMs));
  changes.push(...withdrawOffers(state, lost, expired, nowMs));
  changes.push(...failSilent(state, nowMs));
  const gone = new Set(lost);
  changes.push(...takeBackOld(state, gone, nowMs));
  changes.push(...takeBackShares(state, gone, nowMs));
  for (const change of tickQuarantines(state, nowMs)) {
    const record = change.table === "node" && "row" in change && state.nodes.get(change.row.id);
    if (record !== false && record !== undefined && !gone.has(record)) changes.push(change);
  }
  const removal = new Removal(state, nowMs, new Set(expired.keys()));
  changes.push(...removal.removeEnded(settings));
  return { changes, answer: undefined };
}

/** The time at which `tick` has work next, as far as is known. */
export function nextTickMs(state: State, settings: TickSettings): number | undefined {
  if (state.leftovers.isAny) return 0;
  let next = state.deadlines.next?.atMs ?? Number.POSITIVE_INFINITY;
  for (const { node } of state.disconnected) {
    next = Math.min(next, lostAtMs(node, settings.nodeLostAfterMs) ?? next);
  }
  for (const record of state.powerless) next = Math.min(next, sharesBackAtMs(record) ?? next);
  for (const { node } of state.fleet.suspicions.quarantined) {
    next = Math.min(next, (node.quarantine && dueAtMs(state, node.quarantine)) ?? next);
  }
  for (const task of state.acceptedTasks.inOrder()) {
    next = Math.min(next, silentAtMs(task));
    break; // the others have later reports
  }
  next = Math.min(next, state.services.nextAlarmMs ?? next);
  const held = state.fleet.ahead.oldest;
  if (held !== undefined) next = Math.min(next, takeBackAtMs(held));
  const oldest = state.ended.oldest(0);
  if (oldest !== undefined) {
    const isSurplus = state.ended.tasks > settings.finishedTasksMax;
    next = Math.min(next, removalMs(state.jobs.endOf(oldest), settings, isSurplus));
  }
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

/** A held task that its node has not begun by now waits for tasks that take longer than earlier ones did. */
function takeBackOld(state: State, gone: ReadonlySet<NodeRecord>, nowMs: number): Change[] {
  const changes: Change[] = [];
  for (const task of state.fleet.ahead.inOrder()) {
    if (changes.length >= limits.changesPerBatchMax || takeBackAtMs(task) > nowMs) break;
    const record = state.nodes.get(task.state.nodeId);
    if (record === undefined || gone.has(record)) continue;
    const row = takenBack(task, "its node did not start it in time");
    if (row !== undefined) changes.push({ table: "task", row });
  }
  return changes;
}

const takeBackAtMs = ({ state }: HeldTask): number => state.heldAtMs + limits.heldMsMax;

/** Closes the jobs whose deadlines have passed; those beyond one batch are left to the next tick. */
function expireJobs(state: State, nowMs: number): Map<JobId, Job> {
  const expired = new Map<JobId, Job>();
  const closed = {
    kind: "expired",
    atMs: nowMs,
    by: "busbar",
    reason: "its queue deadline passed",
  } as const;
  for (const { id } of state.deadlines.due(nowMs)) {
    if (expired.size >= limits.changesPerBatchMax) break;
    const record = state.jobs.get(id);
    invariant(record !== undefined, `job ${id}, which has a deadline, exists`);
    // A job whose tasks are all on nodes is closed too: a failed task is not retried.
    expired.set(id, { ...record.job, closed });
  }
  return expired;
}

/** The time at which an ended job is removed. Even when there are too many, clients that wait for it see its end first. */
function removalMs(endMs: number, { finishedAgeMsMax }: TickSettings, isSurplus: boolean): number {
  const keptMs = isSurplus ? Math.min(limits.finishedAgeMsMin, finishedAgeMsMax) : finishedAgeMsMax;
  return endMs + keptMs;
}

/** Removes old jobs, after the rows of their dependents were written without them. */
class Removal {
  readonly #state: State;
  readonly #nowMs: number;
  readonly #changes: Change[] = [];
  /** Jobs that this tick writes: each once. */
  readonly #written: Set<JobId>;

  constructor(state: State, nowMs: number, written: Set<JobId>) {
    this.#state = state;
    this.#nowMs = nowMs;
    this.#written = written;
  }

  removeEnded(settings: TickSettings): readonly Change[] {
    const state = this.#state;
    let surplus = state.ended.tasks - settings.finishedTasksMax;
    const rowsMax = settings.removedRowsMax ?? limits.changesPerBatchMax;
    let rows = this.#removeLeftovers(rowsMax);
    // A thousand arrays are too much for one batch: the next tick, which is due at once, continues.
    for (let at = 0; at < limits.removalsPerTickMax && rows < rowsMax; at++) {
      const id = state.ended.oldest(at);
      if (id === undefined) break;
      if (removalMs(state.jobs.endOf(id), settings, surplus > 0) > this.#nowMs) break;
      if (!this.#release(id)) break;
      const record = state.jobs.get(id);
      const count = record?.taskRowCount ?? 0;
      surplus -= count;
      rows += 1 + count;
      const goesLater = count > rowsMax;
      if (goesLater) this.#changes.push({ table: "leftover", row: { id } });
      const indexes = goesLater ? [] : Array.from(record?.taskRowIndexes() ?? []);
      this.#changes.push({ table: "job", removed: id, indexes });
    }
    return this.#changes;
  }

  /** Deletes rows of a removed job that had too many; returns how many. */
  #removeLeftovers(rowsMax: number): number {
    const next = this.#state.leftovers.next(rowsMax);
    if (next === undefined) return 0;
    const { id, indexes, isLast } = next;
    this.#changes.push({ table: "leftover", removed: id, indexes, isLast });
    return indexes.length;
  }

  /** Whether no dependent needs it any more; if there are many, the next tick continues. */
  #release(id: JobId): boolean {
    for (const hold of this.#state.holds.dependentsOf(id)) {
      if (this.#written.has(hold.id)) continue;
      if (this.#written.size >= limits.condensedPerTickMax) return false;
      this.#written.add(hold.id);
      this.#changes.push(condense(this.#state, hold, this.#nowMs));
    }
    return true;
  }
}

/** After a start of the server no agent is connected, even if its row says so; ids continue after the last one. */
export function recover(
  state: State,
  { nowMs, lastJobId }: CommandOf<"recover">,
): Decision<undefined> {
  const changes: Change[] = [];
  const withServer = { withServer: true } as const;
  if (lastJobId > state.counter.lastJobId) changes.push({ table: "counter", row: { lastJobId } });
  for (const { node } of state.nodes.values()) {
    const { link } = node;
    if (link.kind === "connected") changes.push(disconnected(node, nowMs, withServer));
    else if (link.kind === "disconnected" && link.withServer === undefined)
      changes.push(disconnected(node, link.sinceMs, withServer));
  }
  return { changes, answer: undefined };
}
