import type { JobId, Revision, TaskRef } from "../model/ids.ts";
import { NO_REVISION, revision as toRevision } from "../model/ids.ts";
import { withDeclared } from "../model/declared-software.ts";
import type { Node } from "../model/node/node.ts";
import { factsOfCapacity, type NodeFacts } from "../model/node/node-facts.ts";
import type { Task } from "../model/job/task.ts";
import { noUsage } from "../model/job/usage.ts";
import { type FilterChain, FILTERS } from "../scheduler/filters/chain.ts";
import { Ledger } from "../scheduler/ledger.ts";
import { Fleet } from "../scheduler/nodes/fleet.ts";
import { NodeGraphs } from "../scheduler/nodes/node-graphs.ts";
import { groupIn } from "../scheduler/queue/group-record.ts";
import { Queue } from "../scheduler/queue/queue.ts";
import type { Change } from "./change.ts";
import { Holds } from "./dependencies/holds.ts";
import { beginLoaded } from "./effects.ts";
import { noJobCounts } from "../scheduler/queue/group-record.ts";
import { AcceptedTasks } from "./jobs/accepted-tasks.ts";
import { Deadlines } from "./deadlines.ts";
import { ClusterSpecs } from "./jobs/cluster-specs.ts";
import { EndedJobs } from "./jobs/ended-jobs.ts";
import { JobIndex } from "./jobs/job-index.ts";
import { noCounts } from "../model/progress.ts";
import { PossibleAnswers } from "./answer-cache.ts";
import type { NodeRecord } from "../scheduler/nodes/node-record.ts";
import { NodeTotals } from "./nodes/node-totals.ts";
import type { QuarantineTerms } from "../scheduler/nodes/suspicions.ts";
import { NodesByName } from "./nodes/nodes-by-name.ts";
import { ServiceTable } from "./services/service-table.ts";
import type { AnyTable, Tables } from "./table.ts";
import { clusterTable } from "./tables/clusters.ts";
import { type Counter, counterTable } from "./tables/counters.ts";
import { doorRecordTable } from "./tables/door-records.ts";
import { noteTable } from "./tables/notes.ts";
import { credentialTable } from "./tables/credentials.ts";
import { factsTable } from "./tables/facts.ts";
import { groupTable } from "./tables/groups.ts";
import { jobTable } from "./tables/jobs.ts";
import { leftoverTable } from "./tables/leftovers.ts";
import { nodeTable } from "./tables/nodes.ts";
import { TABLES } from "./tables/tables.ts";

export interface StateOptions {
  /** When nodes are quarantined; undefined: the defaults of `limits`. */
  readonly quarantine?: QuarantineTerms | undefined;
  /** Tables and filters other than those of the product are for tests. */
  readonly tables?: Tables<AnyTable>;
  readonly filters?: FilterChain | undefined;
}

/**
 * Everything the control plane knows: rows by table, and indexes that follow from them. Rows are
 * replaced, never changed; only `apply` changes tables and indexes, and it cannot fail for changes
 * that `decide` made. One State has one owner, the control loop.
 *
 * The table of a row (table.ts) defines its effects; effects.ts those across tables.
 */
export class State {
  readonly tables: Tables<AnyTable>;
  readonly #rows = new Map<AnyTable, unknown>();

  // Tables with many readers; `rows` returns the rows of any table.
  readonly jobs = this.rows(jobTable);
  readonly groups = this.rows(groupTable);
  readonly nodes = this.rows(nodeTable);
  readonly clusters = this.rows(clusterTable);
  readonly credentials = this.rows(credentialTable);
  readonly notes = this.rows(noteTable);
  readonly doorRecords = this.rows(doorRecordTable);
  /** Facts that agents reported; read them with `factsOf`. */
  readonly facts = this.rows(factsTable);
  /** Of removed jobs: only the next tick reads them. */
  readonly leftovers = this.rows(leftoverTable);

  readonly #counter = this.rows(counterTable);

  // Indexes over rows of several tables: effects.ts updates them.
  /** Finds jobs by state, group, label, name and submitter. */
  readonly index = new JobIndex();
  readonly nodesByName = new NodesByName();
  readonly nodeTotals = new NodeTotals();
  /** Over all groups. */
  readonly totals = { jobs: noJobCounts(), tasks: noCounts(), usage: noUsage() };
  /** Which requests are satisfiable by the registered nodes and clusters. */
  readonly possible = new PossibleAnswers();
  readonly nodeGraphs = new NodeGraphs((node) => this.factsOf(node));
  readonly filters: FilterChain;
  readonly fleet: Fleet;
  readonly queue: Queue;
  /** The resources that tasks hold on nodes, for `verify`. */
  readonly ledger = new Ledger();
  /** Jobs that wait for dependencies, and are not in the queue. */
  readonly holds = new Holds(this.jobs);
  /** Services, their slots, and their pending changes. */
  readonly services = new ServiceTable(this.jobs);
  readonly jobsByIdempotencyKey = new Map<string, JobId>();
  readonly deadlines = new Deadlines();
  /** Nodes whose link is down and that are not lost yet. */
  readonly disconnected = new Set<NodeRecord>();
  /** Nodes that accept shares and have no power at present. */
  readonly powerless = new Set<NodeRecord>();
  readonly ended = new EndedJobs(this.jobs);
  readonly clusterSpecs = new ClusterSpecs();
  readonly acceptedTasks = new AcceptedTasks();
  /** Jobs with energy that are given up: the control loop closes them and stops their shares. */
  readonly failing = new Set<JobId>();
  #jobOrder: JobId[] = [];
  #isLoading = false;
  #revision = NO_REVISION;
  #writing = NO_REVISION;

  constructor({ quarantine, tables = TABLES, filters = FILTERS }: StateOptions = {}) {
    this.tables = tables;
    this.filters = filters;
    this.fleet = new Fleet(filters, quarantine);
    this.queue = new Queue(this.fleet, this.jobs, (id) => groupIn(this.groups, id));
  }

  apply(change: Change): void {
    this.startRow(toRevision(this.#revision + 1));
    this.tables.of(change).apply(this, change);
  }

  /** Of the last change, ever: docs/design/revisions.md. */
  get revision(): Revision {
    return this.#revision;
  }

  /** The revision of the row that is being applied. */
  get writing(): Revision {
    return this.#writing;
  }

  /** Sets the revision of the row that is applied next. */
  startRow(revision: Revision): void {
    this.#writing = revision;
    this.continueAfter(revision);
  }

  /** The revision for other rows that the present row changes: a job by its task. */
  besideWriting(): Revision {
    const beside = toRevision(this.#writing + 1);
    this.continueAfter(beside);
    return beside;
  }

  /** Revisions up to this were issued, although no row may have them any more. */
  continueAfter(revision: Revision): void {
    if (revision > this.#revision) this.#revision = revision;
  }

  /** Whether the row that the change wrote is still the newest. */
  isNewest(change: Change): boolean {
    return this.tables.of(change).isNewest(this, change);
  }

  /** The table's rows, in the form that the table defines. */
  rows<Rows>(table: AnyTable & { newRows(): Rows }): Rows {
    if (!this.#rows.has(table)) this.#rows.set(table, table.newRows());
    return this.#rows.get(table) as Rows;
  }

  get counter(): Counter {
    return this.#counter.row;
  }

  /** Ids in ascending order, for paging from the newest; may include ids of removed jobs. */
  get jobOrder(): readonly JobId[] {
    return this.#jobOrder;
  }

  /** A job was added; its id is larger than all before. */
  addToJobOrder(id: JobId): void {
    this.#jobOrder.push(id);
  }

  /** Drops ids of removed jobs from `jobOrder` once they are the majority. */
  compactJobOrder(): void {
    const { length } = this.#jobOrder;
    if (length <= 1_024 || length <= 2 * this.jobs.size) return;
    this.#jobOrder = this.#jobOrder.filter((id) => this.jobs.has(id));
  }

  /** While rows are read back in the order of their keys, a job may seem ended before it is. */
  startLoading(): void {
    this.#isLoading = true;
    this.jobs.startLoading();
  }

  finishLoading(): void {
    this.#isLoading = false;
    this.jobs.finishLoading();
    beginLoaded(this);
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** The facts of the node's machine, as far as they are known. */
  factsOf({ id, cluster, capacity }: Node): NodeFacts {
    const facts = this.facts.get(id) ?? factsOfCapacity(capacity);
    const declared = this.clusters.declared(cluster);
    if (declared.size === 0) return facts;
    return { ...facts, software: withDeclared(facts.software, declared.values(), id) };
  }

  task({ jobId: id, index }: TaskRef): Task | undefined {
    return this.jobs.getIfBegun(id)?.task(index);
  }

  /** How many tasks are pending, waiting or fetched ahead, over all groups. */
  get queuedTasks(): number {
    return this.totals.tasks.pending + this.totals.tasks.waiting + this.totals.tasks.held;
  }

  get unfinishedJobs(): number {
    return this.jobs.size - this.ended.count;
  }
}
