import { invariant } from "../../lib/invariant.ts";
import type { Group } from "../model/group.ts";
import type { ClusterId, JobId, NodeId } from "../model/ids.ts";
import type { Job, JobTerms } from "../model/job/job.ts";
import { type Node, offersTheSame } from "../model/node/node.ts";
import { addInto, NO_RESOURCES, subtractFrom } from "../model/resources.ts";
import type { Task } from "../model/job/task.ts";
import { isActive, isEnded, usageOf } from "../model/job/task.ts";
import { tallyUsage } from "../model/job/usage.ts";
import { isHeld } from "./dependencies/verdict.ts";
import { mustGiveUp, unplacedOf } from "../model/energy-progress.ts";
import { retryAtMs } from "./energy/give-up.ts";
import {
  type GroupRecord,
  groupIn,
  moveTallies,
  tallyEnd,
} from "../scheduler/queue/group-record.ts";
import { attemptEnded, heldMoved } from "./jobs/attempt-ends.ts";
import { searchedTexts } from "./jobs/job-codec.ts";
import { indexed } from "./jobs/job-index.ts";
import { JobRecord } from "./jobs/job-record.ts";
import type { Progress } from "../model/progress.ts";
import { afterClosing, afterTask, isJobEnded, TASK_STATES } from "../model/progress.ts";
import { NodeRecord } from "../scheduler/nodes/node-record.ts";
import type { State } from "./state.ts";

/*
 * The effects of a row of one table on other tables: the only place where tables meet. Tables call these from
 * `apply`. The order of steps matters where a later step reads the result of an earlier one:
 *
 * A task's row updates
 *   1. its job's record, which holds the row: the following steps may look it up;
 *   2. the capacity it uses (`bind`) in its cluster, its node and its group. The old node first, then
 *      the new one, so that a task that moves is never counted twice. The planner computes the ranks
 *      of groups from these amounts when it next needs them;
 *   3. the queue, if the task is placed again after a backoff;
 *   4. its job's progress (`progressed`): counts of group and totals, the index by state, then the
 *      dependents of the whole job; and when the job has ended, the order of ended jobs and its lane;
 *   5. the dependents of this task, and the service slot of its job. Last: they read row and progress.
 *
 * A job's row updates the counts before the index, and both before the queue and the holds, which may
 * read the job at once. The row of a closed job updates its progress (4) instead of the queue.
 *
 * A node's row updates the capacity of its cluster, from the old row to the new one, then its record
 * and the totals, then the fleet: pools read the new record. When the offers of nodes or clusters
 * change, the cached answers about satisfiable requests are dropped.
 *
 * While rows are read back (`state.isLoading`) a job may seem ended because rows of its tasks are
 * not loaded yet: the end of a job and dependencies wait for `beginLoaded`.
 */

export function putGroup({ groups, queue, writing }: State, row: Group): void {
  const record = groupIn(groups, row.id);
  record.group = row;
  record.revision = writing;
  queue.order.touch(record);
}

export function putJob(state: State, row: Job): void {
  const { jobs, queue } = state;
  const group = groupIn(state.groups, row.spec.group);
  const known = jobs.open(row.id);
  if (known !== undefined) {
    putJobAgain(state, group, known, row);
    return;
  }
  const record = new JobRecord(row, state.writing);
  jobs.add(record);
  countNew(state, group, row.id, record.progress.counts.pending);
  state.index.add(row.id, indexed(row));
  if (row.idempotencyKey !== undefined) state.jobsByIdempotencyKey.set(row.idempotencyKey, row.id);
  if (row.closed !== undefined) {
    progressed(state, group, record, afterClosing(record.progress, row));
    return;
  }
  state.deadlines.add(row);
  const { beginAtMs } = row.spec.terms;
  record.isBackingOff = beginAtMs !== undefined;
  if (beginAtMs !== undefined) queue.addWaiting(record, 0, beginAtMs);
  if (row.spec.dependsOn !== undefined && !state.isLoading) begin(state, record);
  if (row.waitsFor === undefined && record.nextIndex() !== undefined) queue.add(group, record);
}

/** It was released, closed, held or updated, or has fewer dependencies. */
function putJobAgain(state: State, group: GroupRecord, known: JobRecord, row: Job): void {
  const { holds, queue } = state;
  const before = known.job;
  const from = groupIn(state.groups, before.spec.group);
  known.replaceJob(row);
  known.rowText = undefined;
  known.rowRevision = state.writing;
  known.moveTo(state.writing);
  if (from !== group) moveGroup(state, from, group, known);
  if (row.closed !== undefined) state.deadlines.remove(row.id);
  progressed(state, group, known, afterClosing(known.progress, row));
  if (row.closed !== undefined) holds.tasksMoved(row.id, undefined);
  const isQueued = row.closed === undefined && row.waitsFor === undefined;
  if (isQueued && before.spec.terms !== row.spec.terms) queue.move(group, known);
  if (row.spec.dependsOn !== undefined) holdAgain(state, group, known);
  else if (before.hold !== row.hold) requeue(state, group, known);
  if (row.instance !== undefined) state.services.jobMoved(row.id, row.instance);
}

/** Whether its array has a limit of tasks at once, and nothing else keeps it from the queue. */
const mayPlaceAnother = ({ spec, waitsFor, closed }: Job): boolean =>
  spec.tasksAtOnce !== undefined && waitsFor === undefined && closed === undefined;

/** More or fewer of its tasks may be placed than before. */
function requeue({ queue }: State, group: GroupRecord, record: JobRecord): void {
  if (record.nextIndex() !== undefined) queue.add(group, record);
  else if (record.lane !== undefined) queue.jobLeft(record.lane);
}

/** The tallies of its tasks move to its new group. */
function moveGroup(state: State, from: GroupRecord, to: GroupRecord, record: JobRecord): void {
  const { job, progress } = record;
  const { order } = state.queue;
  state.index.regrouped(job.id, job.spec.group);
  from.jobs[progress.state]--;
  to.jobs[progress.state]++;
  for (const name of TASK_STATES) {
    from.tasks[name] -= progress.counts[name];
    to.tasks[name] += progress.counts[name];
  }
  tallyUsage(from.usage, progress.usage, -1);
  tallyUsage(to.usage, progress.usage);
  for (const task of record.openTaskRows()) {
    if (!isActive(task.state)) continue;
    const takes = task.takes ?? job.spec.needs;
    subtractFrom(from.used, takes);
    addInto(to.used, takes);
  }
  order.touch(from);
  order.touch(to);
}

/** A job that depends on others, new or read back. */
function begin({ holds }: State, record: JobRecord): void {
  holds.declare(record);
  if (isHeld(record)) holds.hold(record);
}

/** Its row was written again: released, closed, or with fewer dependencies. */
function holdAgain({ holds, queue }: State, group: GroupRecord, record: JobRecord): void {
  holds.drop(record.job.id);
  if (isHeld(record)) holds.hold(record);
  else if (record.job.closed === undefined && record.nextIndex() !== undefined)
    queue.add(group, record);
  else if (record.lane !== undefined) queue.jobLeft(record.lane);
}

function countNew(state: State, group: GroupRecord, id: JobId, pending: number): void {
  state.addToJobOrder(id);
  for (const tally of [group, state.totals]) {
    tally.jobs.pending++;
    tally.tasks.pending += pending;
  }
}

export function removeJob(state: State, id: JobId): void {
  const { jobs, totals, holds } = state;
  const record = jobs.get(id);
  if (record === undefined) return;
  const { job, progress } = record;
  const group = groupIn(state.groups, job.spec.group);
  jobs.delete(id);
  state.index.remove(id, progress.state);
  if (job.idempotencyKey !== undefined) state.jobsByIdempotencyKey.delete(job.idempotencyKey);
  for (const tally of [group, totals]) {
    tally.jobs[progress.state]--;
    for (const name of TASK_STATES) tally.tasks[name] -= progress.counts[name];
    tallyUsage(tally.usage, progress.usage, -1);
  }
  invariant(!holds.hasDependents(id), `nobody waits for job ${id}, which is removed`);
  for (const task of record.detailedTaskRows()) state.acceptedTasks.moved(task, undefined);
  state.ended.removeOldest(id, record.taskRowCount);
  state.compactJobOrder();
}

export function putTask(state: State, row: Task): void {
  const record = state.jobs.open(row.jobId);
  invariant(record !== undefined, `task ${row.jobId}.${row.index} has a job`);
  const group = groupIn(state.groups, record.job.spec.group);
  const before = record.task(row.index);
  record.setTask(row, state.writing);
  record.moveTo(state.besideWriting());
  bind(state, group, record, before, row);
  if (row.state.kind === "waiting") {
    state.queue.addWaiting(record, row.index, row.state.notBeforeMs);
  }
  progressed(state, group, record, afterTask(record.progress, record.job, before, row));
  if (row.share !== undefined) shareMoved(state, group, record, row);
  // Another task of its array may be placed.
  else if (mayPlaceAnother(record.job)) requeue(state, group, record);
  state.holds.tasksMoved(row.jobId, row.index);
  const { instance } = record.job;
  if (instance !== undefined) state.services.jobMoved(row.jobId, instance);
}

/** The undone part of a share is placed again, unless its job has failed too often: then the control loop gives it up. */
function shareMoved(state: State, group: GroupRecord, record: JobRecord, row: Task): void {
  const { job, progress } = record;
  state.deadlines.remove(job.id); // it has begun
  if (job.closed?.kind === "failed" && isActive(row.state)) state.failing.add(job.id);
  if (job.closed !== undefined || isJobEnded(progress)) return;
  if (mustGiveUp(job, progress)) {
    state.failing.add(job.id);
    if (record.lane !== undefined) state.queue.jobLeft(record.lane);
  } else if (isEnded(row.state) && unplacedOf(job, progress) > 0) {
    const atMs = retryAtMs(job, progress, row);
    record.isBackingOff ||= atMs > 0;
    if (atMs > 0) state.queue.addWaiting(record, row.index, atMs);
    else if (!record.isBackingOff) state.queue.add(group, record);
  }
}

/** Updates the resources that clusters, nodes and groups hold when a task changes its state. */
function bind(
  state: State,
  group: GroupRecord,
  record: JobRecord,
  before: Task | undefined,
  after: Task,
): void {
  const { clusters, nodes, nodeTotals, fleet, queue } = state;
  clusters.loads.moved(before, after);
  state.acceptedTasks.moved(before, after);
  const { needs, where } = record.job.spec;
  state.ledger.moved(before, after, needs, where.port);
  heldMoved(state, record, before, after);
  const from = before !== undefined && isActive(before.state) ? before.state.nodeId : undefined;
  const to = isActive(after.state) ? after.state.nodeId : undefined;
  if (before !== undefined && from !== undefined) {
    const node = nodes.get(from);
    if (from === to) {
      node?.swap(before, after);
      return;
    }
    const takes = before.takes ?? needs;
    subtractFrom(group.used, takes);
    queue.order.touch(group);
    if (node !== undefined) {
      nodeTotals.release(node, before, takes, where.port);
      attemptEnded(fleet, record, node, { before, after });
      clusters.loads.released(node.node.cluster, takes);
      fleet.usageChanged(node, true);
    }
  }
  if (to === undefined) return;
  const node = nodes.get(to);
  invariant(node !== undefined, `task ${after.jobId}.${after.index} is on a known node`);
  const takes = after.takes ?? needs;
  addInto(group.used, takes);
  queue.order.touch(group);
  nodeTotals.bind(node, after, takes, where.port);
  clusters.loads.bound(node.node.cluster, takes);
  fleet.assigned(node);
}

function progressed(state: State, group: GroupRecord, record: JobRecord, after: Progress): void {
  const before = record.progress;
  if (before === after) return;
  const { queue, holds } = state;
  record.progress = after;
  queue.order.touch(group); // the group may be at its limit now, or no longer
  moveTallies(group, state.totals, before, after);
  if (before.state !== after.state) state.index.moved(record.job.id, before.state, after.state);
  if (state.isLoading) return;
  holds.progressed(record, before);
  if (!isJobEnded(after) || isJobEnded(before)) return;
  state.ended.add(record.job.id, record.taskRowCount);
  state.ledger.jobEnded(record.job.id);
  state.deadlines.remove(record.job.id);
  if (record.lane !== undefined) queue.jobLeft(record.lane);
  if (record.job.spec.dependsOn !== undefined) holds.ended(record);
}

export function putNode(state: State, row: Node): void {
  const { nodes, nodeTotals, disconnected, clusters, fleet } = state;
  let record = nodes.get(row.id);
  const before = record?.node.capacity;
  if (record === undefined || !offersTheSame(record.node, row)) clearPossible(state);
  clusters.loads.nodeChanged(record?.node, row, record?.used ?? NO_RESOURCES);
  if (record === undefined) {
    record = new NodeRecord(row, state.nodeGraphs);
    nodes.set(row.id, record);
    state.nodesByName.add(record);
  } else {
    nodeTotals.leave(record);
    record.replace(row);
  }
  record.revision = state.writing;
  nodeTotals.join(record);
  fleet.nodeChanged(record, before);
  if (row.link.kind === "disconnected") disconnected.add(record);
  else disconnected.delete(record);
  if (row.power?.noneSinceMs !== undefined) state.powerless.add(record);
  else state.powerless.delete(record);
}

export function removeNode(state: State, id: NodeId): void {
  const { nodes, fleet } = state;
  const record = nodes.get(id);
  if (record === undefined) return;
  invariant(record.tasks.size + record.held.size === 0, `node ${id} is removed without tasks`);
  fleet.nodeRemoved(record, record.node.capacity);
  clearPossible(state);
  state.clusters.loads.nodeChanged(record.node, undefined, record.used);
  state.disconnected.delete(record);
  state.powerless.delete(record);
  fleet.suspicions.nodeRemoved(record);
  nodes.delete(id);
  state.nodeTotals.leave(record);
  state.nodesByName.remove(record);
}

/** The facts of the node's machine changed. */
export function factsChanged(state: State, id: NodeId): void {
  const record = state.nodes.get(id);
  if (record === undefined) return; // its row follows
  const { node } = record;
  record.replace(node);
  clearPossible(state);
  state.fleet.nodeChanged(record, node.capacity);
}

/** The declared software of the cluster changed, and with it the offers of its nodes. */
export function declaredChanged(state: State, cluster: ClusterId): void {
  const nodes = [...state.fleet.inCluster(cluster)]; // each leaves it and joins again
  for (const { node } of nodes) factsChanged(state, node.id);
  clearPossible(state);
}

/** The contents of a pull cluster changed: jobs that wait for a cluster search again. */
export function clusterOffersChanged(state: State, cluster: ClusterId): void {
  state.queue.clustersChanged(cluster);
  clearPossible(state);
}

/** Nodes or clusters changed, so a request may have become satisfiable or unsatisfiable. */
export function clearPossible({ possible }: State): void {
  possible.clear();
}

/**
 * Loads a stored job that is only queued. Reads no more of its row than its terms. It has no
 * idempotency key, and its terms have neither an array nor a deadline.
 */
export function loadFolded(state: State, id: JobId, text: string, terms: JobTerms): void {
  const group = groupIn(state.groups, terms.group);
  countNew(state, group, id, 1);
  state.index.add(id, { ...searchedTexts(text), terms });
  state.queue.addFolded(group, id, { text, terms, revision: state.writing });
}

/**
 * A stored row of a task, while rows are read back. If it is the only row of a folded job that has
 * ended, the job is not decoded. Returns whether that was so; otherwise nothing has changed.
 */
export function endFolded(whole: State, row: Task): boolean {
  const { jobs, totals, index, acceptedTasks, deadlines, writing } = whole;
  const group = jobs.foldedIn(row.jobId)?.group;
  if (group === undefined || !("endedAtMs" in row.state) || row.share !== undefined) return false;
  const state = row.state.kind; // the job has one task, so this is its state, too
  tallyEnd([group, totals], state, usageOf(row));
  index.moved(row.jobId, "pending", state);
  acceptedTasks.moved(undefined, row);
  deadlines.remove(row.jobId);
  const end = { group: group.group.id, state, revision: whole.besideWriting() };
  jobs.endFolded(row.jobId, { row, revision: writing }, end);
  return true;
}

/** All rows are read back: only now is the progress of dependencies known. */
export function beginLoaded(state: State): void {
  const { jobs, ended } = state;
  for (const id of jobs.foldedEndedIds()) ended.add(id, jobs.foldedTaskRows(id));
  const over: JobId[] = [];
  const dependent: JobRecord[] = [];
  for (const record of jobs.openRecords()) {
    const { job, progress, taskRowCount } = record;
    if (isJobEnded(progress)) {
      ended.add(job.id, taskRowCount);
      state.ledger.jobEnded(job.id);
      state.deadlines.remove(job.id);
      over.push(job.id);
    } else if (job.spec.dependsOn !== undefined) dependent.push(record);
  }
  for (const id of over) jobs.foldEnded(id);
  for (const record of dependent.sort((a, b) => a.job.id - b.job.id)) begin(state, record);
  ended.sort();
  state.acceptedTasks.sort();
  state.services.begin();
}
