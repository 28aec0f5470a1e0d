import { Heap } from "../../lib/collections/heap.ts";
import { invariant, unreachable } from "../../lib/invariant.ts";
import type { Group } from "../model/group.ts";
import { freshGroup } from "../model/group.ts";
import type { GroupId, JobId, NodeId, TaskRef } from "../model/ids.ts";
import { jobId } from "../model/ids.ts";
import { withDeclared } from "../model/declared-software.ts";
import type { Deadline, Job, JobTerms } from "../model/job/job.ts";
import { deadlineOf } from "../model/job/job.ts";
import { type Node, offersTheSame } from "../model/node/node.ts";
import { factsOfCapacity, type NodeFacts } from "../model/node/node-facts.ts";
import { addInto, NO_RESOURCES, subtractFrom } from "../model/resources.ts";
import type { Task } from "../model/job/task.ts";
import { isActive, usageOf } from "../model/job/task.ts";
import { noUsage, tallyUsage } from "../model/job/usage.ts";
import { Fleet } from "../scheduler/nodes/fleet.ts";
import { NodeGraphs } from "../scheduler/nodes/node-graphs.ts";
import { Queue } from "../scheduler/queue/queue.ts";
import { attemptEnded, heldMoved } from "./jobs/attempt-ends.ts";
import type { Change, Counter } from "./change.ts";
import { searchedTexts } from "./codec.ts";
import { Holds } from "./dependencies/holds.ts";
import { isHeld } from "./dependencies/verdict.ts";
import { CredentialTable } from "./credential-table.ts";
import { ClusterTable } from "./cluster-table.ts";
import { EndedJobs } from "./jobs/ended-jobs.ts";
import { GroupRecord, moveTallies, noJobCounts, tallyEnd } from "./group-record.ts";
import { HandedTasks } from "./jobs/accepted-tasks.ts";
import { indexed, JobIndex } from "./jobs/job-index.ts";
import { KnownAnswers } from "./known-answers.ts";
import { JobRecord } from "./jobs/job-record.ts";
import { JobTable } from "./jobs/job-table.ts";
import { LeftoverRows } from "./jobs/leftover-rows.ts";
import { NodeRecord } from "./nodes/node-record.ts";
import { NodeTotals } from "./nodes/node-totals.ts";
import { NodesByName } from "./nodes/nodes-by-name.ts";
import type { Progress } from "./jobs/progress.ts";
import { afterClosing, afterTask, isJobEnded, noCounts, TASK_STATES } from "./jobs/progress.ts";

/**
 * Everything the control plane knows: rows by table, and indexes that follow from them. Rows are
 * replaced, never changed; only `apply` changes tables and indexes, and it cannot fail for changes
 * that `decide` made. One State has one owner, the control loop.
 */
export class State {
  readonly jobs = new JobTable();
  /** Where to look for jobs by state, group, label, name and submitter. */
  readonly index = new JobIndex();
  readonly groups = new Map<GroupId, GroupRecord>();
  readonly nodes = new Map<NodeId, NodeRecord>();
  readonly nodesByName = new NodesByName();
  readonly nodeTotals = new NodeTotals();
  readonly clusters = new ClusterTable();
  readonly credentials = new CredentialTable();
  /** Of nodes whose agents told them; ask `factsOf`. */
  readonly facts = new Map<NodeId, NodeFacts>();
  counter: Counter = { lastJobId: jobId(0) };
  /** Over all groups. */
  readonly totals = { jobs: noJobCounts(), tasks: noCounts(), usage: noUsage() };
  /** What nodes and clusters there are could ever run, by what is asked for. */
  readonly possible = new KnownAnswers<boolean>();
  readonly whyNever = new KnownAnswers<readonly string[]>(); // by the same keys
  readonly #nodeGraphs = new NodeGraphs((node) => this.factsOf(node));
  readonly fleet = new Fleet();
  readonly queue = new Queue(this.fleet, this.jobs);
  /** Jobs that wait for others, and are not in the queue. */
  readonly holds = new Holds(this.jobs);
  /** Ids in rising order, for paging from the newest; ids of removed jobs may still stand there. */
  jobOrder: JobId[] = [];
  readonly jobsByIdempotencyKey = new Map<string, JobId>();
  readonly deadlines = new Heap<Deadline>((a, b) => a.atMs < b.atMs);
  /** Nodes whose link is down and that are not lost yet. */
  readonly disconnected = new Set<NodeRecord>();
  readonly ended = new EndedJobs(this.jobs);
  /** Of jobs that were removed: nobody but the next tick looks at them. */
  readonly leftovers = new LeftoverRows();
  readonly handed = new HandedTasks();
  #loading = false;

  /** While rows come back in the order of their keys, a job may look ended and not be. */
  startLoading(): void {
    this.#loading = true;
  }

  finishLoading(): void {
    this.#loading = false;
    for (const id of this.jobs.foldedEndedIds()) this.ended.add(id, this.jobs.foldedTaskRows(id));
    const ended: JobId[] = [];
    const dependent: JobRecord[] = [];
    for (const record of this.jobs.openRecords()) {
      const { job, progress, taskRowCount } = record;
      if (isJobEnded(progress)) {
        this.ended.add(job.id, taskRowCount);
        ended.push(job.id);
      } else if (job.spec.dependsOn !== undefined) dependent.push(record);
    }
    for (const id of ended) this.jobs.foldEnded(id);
    // Rows of tasks come last: only now is known how far the jobs are that others wait for.
    for (const record of dependent.sort((a, b) => a.job.id - b.job.id)) this.#begin(record);
    this.ended.sort();
    this.handed.sort();
  }

  apply(change: Change): void {
    switch (change.table) {
      case "job":
        if ("removed" in change) this.#removeJob(change.removed);
        else this.#putJob(change.row);
        return;
      case "leftover":
        this.leftovers.apply(change, this.jobs);
        return;
      case "task":
        this.#putTask(change.row);
        return;
      case "node":
        if ("removed" in change) this.#removeNode(change.removed);
        else this.#putNode(change.row);
        return;
      case "group":
        if ("removed" in change) this.groups.delete(change.removed);
        else this.#putGroup(change.row);
        return;
      case "cluster":
      case "graph":
      case "subsystem":
      case "declared":
      case "status":
        if (change.table === "declared") this.#declaredChanged(change);
        else if (this.clusters.apply(change)) {
          this.queue.clustersChanged("removed" in change ? change.removed : change.row.id);
        }
        if (change.table !== "status") this.#forgetPossible();
        return;
      case "facts":
        if ("removed" in change) this.facts.delete(change.removed);
        else this.facts.set(change.row.id, change.row.facts);
        this.#factsChanged("removed" in change ? change.removed : change.row.id);
        return;
      case "credential":
        this.credentials.apply(change);
        return;
      case "counter":
        this.counter = change.row;
        return;
      default:
        unreachable(change);
    }
  }

  /** What the node's machine has, as far as it is known. */
  factsOf({ id, cluster, capacity }: Node): NodeFacts {
    const facts = this.facts.get(id) ?? factsOfCapacity(capacity);
    const declared = this.clusters.declared(cluster);
    if (declared.size === 0) return facts;
    return { ...facts, software: withDeclared(facts.software, declared.values(), id) };
  }

  task({ jobId: id, index }: TaskRef): Task | undefined {
    return this.jobs.getBegun(id)?.task(index);
  }

  /** How many tasks are pending, waiting or fetched ahead, over all groups. */
  get queuedTasks(): number {
    return this.totals.tasks.pending + this.totals.tasks.waiting + this.totals.tasks.held;
  }

  get unfinishedJobs(): number {
    return this.jobs.size - this.ended.count;
  }

  #group(id: GroupId): GroupRecord {
    let record = this.groups.get(id);
    if (record === undefined) {
      record = new GroupRecord(freshGroup(id));
      this.groups.set(id, record);
    }
    return record;
  }

  #putGroup(row: Group): void {
    const record = this.#group(row.id);
    record.group = row;
    this.queue.order.touch(record);
  }

  #putJob(row: Job): void {
    const group = this.#group(row.spec.group);
    const known = this.jobs.open(row.id);
    if (known !== undefined) {
      known.job = row;
      known.rowText = undefined;
      this.#progressed(group, known, afterClosing(known.progress, row));
      if (row.closed !== undefined) this.holds.tasksMoved(row.id, undefined);
      if (row.spec.dependsOn !== undefined) this.#holdAgain(group, known);
      return;
    }
    const record = new JobRecord(row);
    this.jobs.add(record);
    this.#count(group, row.id, record.progress.counts.pending);
    this.index.add(row.id, indexed(row));
    if (row.idempotencyKey !== undefined) this.jobsByIdempotencyKey.set(row.idempotencyKey, row.id);
    if (row.closed !== undefined) {
      this.#progressed(group, record, afterClosing(record.progress, row));
      return;
    }
    const deadline = deadlineOf(row);
    if (deadline !== undefined) this.deadlines.push({ atMs: deadline, id: row.id });
    if (row.spec.dependsOn !== undefined && !this.#loading) this.#begin(record);
    if (row.waitsFor === undefined) this.queue.add(group, record);
  }

  /** A job that depends on others, new or read back. */
  #begin(record: JobRecord): void {
    this.holds.declare(record);
    if (isHeld(record)) this.holds.hold(record);
  }

  /** Its row was written again: released, closed, or with less to wait for. */
  #holdAgain(group: GroupRecord, record: JobRecord): void {
    this.holds.drop(record.job.id);
    if (isHeld(record)) this.holds.hold(record);
    else if (record.job.closed === undefined) this.queue.add(group, record);
  }

  #count(group: GroupRecord, id: JobId, pending: number): void {
    this.jobOrder.push(id);
    for (const tally of [group, this.totals]) {
      tally.jobs.pending++;
      tally.tasks.pending += pending;
    }
  }

  /**
   * A stored job that only waits, without reading more of its row than its terms. It has no
   * idempotency key, and its terms neither an array nor a deadline.
   */
  loadFolded(id: JobId, text: string, terms: JobTerms): void {
    const group = this.#group(terms.group);
    this.#count(group, id, 1);
    this.index.add(id, { ...searchedTexts(text), terms });
    this.queue.addFolded(group, id, { text, terms });
  }

  /**
   * A stored row of a task, while rows are read back. If it is the only one of a job that is folded
   * and has ended, the job is not read.
   */
  loadTask(row: Task): void {
    const group = this.jobs.foldedIn(row.jobId)?.group;
    if (group === undefined || !("endedAtMs" in row.state)) {
      this.#putTask(row);
      return;
    }
    const state = row.state.kind; // of its only task: the job's, too
    tallyEnd([group, this.totals], state, usageOf(row));
    this.index.moved(row.jobId, "pending", state);
    this.handed.moved(undefined, row);
    this.jobs.endFolded(row.jobId, row, { group: group.group.id, state });
  }

  #removeJob(id: JobId): void {
    const record = this.jobs.get(id);
    if (record === undefined) return;
    const { job, progress } = record;
    const group = this.#group(job.spec.group);
    this.jobs.delete(id);
    this.index.remove(id, progress.state);
    if (job.idempotencyKey !== undefined) this.jobsByIdempotencyKey.delete(job.idempotencyKey);
    for (const tally of [group, this.totals]) {
      tally.jobs[progress.state]--;
      for (const name of TASK_STATES) tally.tasks[name] -= progress.counts[name];
      tallyUsage(tally.usage, progress.usage, -1);
    }
    invariant(!this.holds.hasDependents(id), `nobody waits for job ${id}, which is removed`);
    for (const task of record.unlikeTaskRows()) this.handed.moved(task, undefined);
    this.ended.removeOldest(id, record.taskRowCount);
    if (this.jobOrder.length > 1_024 && this.jobOrder.length > 2 * this.jobs.size) {
      this.jobOrder = this.jobOrder.filter((other) => this.jobs.has(other));
    }
  }

  #putTask(row: Task): void {
    const record = this.jobs.open(row.jobId);
    invariant(record !== undefined, `task ${row.jobId}.${row.index} has a job`);
    const group = this.#group(record.job.spec.group);
    const before = record.task(row.index);
    record.setTask(row);
    this.#bind(group, record, before, row);
    if (row.state.kind === "waiting") {
      this.queue.addWaiting(group, record, row.index, row.state.notBeforeMs);
    }
    this.#progressed(group, record, afterTask(record.progress, record.job, before, row));
    this.holds.tasksMoved(row.jobId, row.index);
  }

  /** Keeps what nodes and groups hold in step with the task's state. */
  #bind(group: GroupRecord, record: JobRecord, before: Task | undefined, after: Task): void {
    this.clusters.loads.moved(before, after);
    this.handed.moved(before, after);
    const { needs } = record.job.spec;
    heldMoved(this, record, before, after);
    const from = before !== undefined && isActive(before.state) ? before.state.nodeId : undefined;
    const to = isActive(after.state) ? after.state.nodeId : undefined;
    if (before !== undefined && from !== undefined) {
      const node = this.nodes.get(from);
      if (from === to) {
        node?.swap(before, after);
        return;
      }
      const takes = before.takes ?? needs;
      subtractFrom(group.used, takes);
      this.queue.order.touch(group);
      if (node !== undefined) {
        this.nodeTotals.release(node, before, takes);
        attemptEnded(this.fleet, record, node, { before, after });
        this.clusters.loads.released(node.node.cluster, takes);
        this.fleet.usageChanged(node, true);
      }
    }
    if (to === undefined) return;
    const node = this.nodes.get(to);
    invariant(node !== undefined, `task ${after.jobId}.${after.index} is on a known node`);
    const takes = after.takes ?? needs;
    addInto(group.used, takes);
    this.queue.order.touch(group);
    this.nodeTotals.bind(node, after, takes);
    this.clusters.loads.bound(node.node.cluster, takes);
    this.fleet.given(node);
  }

  #progressed(group: GroupRecord, record: JobRecord, after: Progress): void {
    const before = record.progress;
    if (before === after) return;
    record.progress = after;
    this.queue.order.touch(group); // which may be at its limit now, or no longer
    moveTallies(group, this.totals, before, after);
    if (before.state !== after.state) {
      this.index.moved(record.job.id, before.state, after.state);
    }
    if (this.#loading) return;
    this.holds.progressed(record, before);
    if (!isJobEnded(after) || isJobEnded(before)) return;
    this.ended.add(record.job.id, record.taskRowCount);
    if (record.lane !== undefined) this.queue.jobEnded(record.lane);
    if (record.job.spec.dependsOn !== undefined) this.holds.ended(record);
  }

  #putNode(row: Node): void {
    let record = this.nodes.get(row.id);
    const before = record?.node.capacity;
    if (record === undefined || !offersTheSame(record.node, row)) this.#forgetPossible();
    this.clusters.loads.nodeChanged(record?.node, row, record?.used ?? NO_RESOURCES);
    if (record === undefined) {
      record = new NodeRecord(row, this.#nodeGraphs);
      this.nodes.set(row.id, record);
      this.nodesByName.add(record);
    } else {
      this.nodeTotals.leave(record);
      record.replace(row);
    }
    this.nodeTotals.join(record);
    this.fleet.nodeChanged(record, before);
    if (row.link.kind === "disconnected") this.disconnected.add(record);
    else this.disconnected.delete(record);
  }

  readonly #forgetPossible = (): void => [this.possible, this.whyNever].forEach((m) => m.clear());

  #declaredChanged(change: Change & { table: "declared" }): void {
    this.clusters.apply(change);
    const cluster = "removed" in change ? change.removed : change.row.id;
    const nodes = [...this.fleet.inCluster(cluster)]; // each leaves it and comes back
    for (const { node } of nodes) this.#factsChanged(node.id);
  }

  #factsChanged(id: NodeId): void {
    const record = this.nodes.get(id);
    if (record === undefined) return; // its row follows
    const { node } = record;
    record.replace(node);
    this.#forgetPossible();
    this.fleet.nodeChanged(record, node.capacity);
  }

  #removeNode(id: NodeId): void {
    const record = this.nodes.get(id);
    if (record === undefined) return;
    invariant(record.tasks.size + record.held.size === 0, `node ${id} is removed without tasks`);
    this.fleet.nodeRemoved(record, record.node.capacity);
    this.#forgetPossible();
    this.clusters.loads.nodeChanged(record.node, undefined, record.used);
    this.disconnected.delete(record);
    this.fleet.suspicions.nodeRemoved(record);
    this.nodes.delete(id);
    this.nodeTotals.leave(record);
    this.nodesByName.remove(record);
  }
}
