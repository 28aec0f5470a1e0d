import { countIndexes } from "../../src/core/model/job/array-range.ts";
import type { ClusterStatus } from "../../src/core/model/cluster.ts";
import type { Job } from "../../src/core/model/job/job.ts";
import { rangesOf } from "../../src/core/model/job/job.ts";
import type { Node } from "../../src/core/model/node/node.ts";
import type { ActiveState, HeldState, Task, TaskState } from "../../src/core/model/job/task.ts";
import { isActive, isEnded } from "../../src/core/model/job/task.ts";
import { TABLES } from "../../src/core/state/tables/tables.ts";
import type { AllRows } from "../../src/core/state/checks/slow-dependencies.ts";
import type { Batch, RowWrite, StoredRow } from "../../src/ports/store.ts";
import { ClusterRows } from "./cluster-rows.ts";
import { ServiceRows } from "./services.ts";
import { ShownRows } from "./shown-rows.ts";

export interface Run {
  readonly jobId: number;
  readonly index: number;
  readonly attempt: number;
}

export const formatRun = ({ jobId, index, attempt }: Run): string => `${jobId}.${index}#${attempt}`;
const taskKey = ({ jobId, index }: Pick<Run, "jobId" | "index">): string => `${jobId}.${index}`;

/** The change of one row by one batch. */
export interface RowMove<Row> {
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

export interface BatchMoves {
  readonly revision: number;
  readonly jobs: readonly RowMove<Job>[];
  readonly tasks: readonly RowMove<Task>[];
  /** The keys of all written or removed rows. */
  readonly touched: ReadonlySet<string>;
  /** The clusters' state before. */
  readonly statusesBefore: ReadonlyMap<string, ClusterStatus>;
  /** The nodes before. */
  readonly nodesBefore: ReadonlyMap<string, Node>;
}

/**
 * The present and past content of the disk, as anyone could read it. The truth that everything sent to clients and agents is compared with.
 * It shares the decoding of rows and words like "ended" with the product, and nothing of the state that it judges.
 */
export class Durable {
  readonly jobs = new Map<number, Job>();
  readonly tasks = new Map<string, Task>();
  readonly nodes = new Map<string, Node>();
  readonly clusters = new ClusterRows();
  readonly services = new ServiceRows();
  revision = 0;
  /** Every attempt that was ever assigned to a node. */
  readonly assignedTo = new Map<string, string>();
  /** The last row of every job and task ever, including removed ones. */
  readonly ever = new Ever();
  readonly shown = new ShownRows();

  /** Reads the disk again from nothing, as a restarted server would. */
  reload(rows: Iterable<StoredRow>, revision: number): void {
    this.jobs.clear();
    this.tasks.clear();
    this.nodes.clear();
    this.clusters.clear();
    this.services.clear();
    this.shown.clear();
    for (const row of rows) {
      this.#write(row);
      this.shown.put(row);
    }
    this.revision = revision;
  }

  note({ revision, writes }: Batch): BatchMoves {
    const jobs: RowMove<Job>[] = [];
    const tasks: RowMove<Task>[] = [];
    const statusesBefore = new Map(this.clusters.statuses);
    const nodesBefore = new Map(this.nodes);
    for (const write of writes) {
      const move = this.#write(write);
      if (move?.table === "job") jobs.push(move);
      if (move?.table === "task") tasks.push(move);
    }
    this.revision = revision;
    this.shown.note(writes);
    const touched = new Set(writes.map(({ key }) => key));
    return { revision, jobs, tasks, touched, statusesBefore, nodesBefore };
  }

  #write({
    key,
    value,
  }: RowWrite):
    | ({ table: "job" } & RowMove<Job>)
    | ({ table: "task" } & RowMove<Task>)
    | undefined {
    const [table = "", first = "", index = ""] = key.split("/");
    const change = value === undefined ? undefined : TABLES.decode(key, value);
    const row = change !== undefined && "row" in change ? change.row : undefined;
    if (table === "job") {
      const after = row as Job | undefined;
      if (after !== undefined) this.ever.noteJob(after);
      return { table, ...replace(this.jobs, Number(first), after) };
    }
    if (table === "task") {
      const after = row as Task | undefined;
      if (after !== undefined) {
        this.#noteAssignment(after);
        this.ever.noteTask(after);
      }
      const id = taskKey({ jobId: Number(first), index: Number(index) });
      return { table, ...replace(this.tasks, id, after) };
    }
    if (table === "service" || table === "slot") {
      this.services.put(table, key.slice(table.length + 1), row);
      return undefined;
    }
    if (table === "node") replace(this.nodes, first, row as Node | undefined);
    else if (change === undefined) this.clusters.remove(table, first);
    else this.clusters.put(change);
    return undefined;
  }

  #noteAssignment({ jobId, index, attempt, state, past }: Task): void {
    const now = "nodeId" in state ? state.nodeId : undefined;
    if (now !== undefined) this.assignedTo.set(formatRun({ jobId, index, attempt }), now);
    for (const one of past) {
      const ran = formatRun({ jobId, index, attempt: one.attempt });
      if (one.nodeId !== undefined) this.assignedTo.set(ran, one.nodeId);
    }
  }

  task(run: Pick<Run, "jobId" | "index">): Task | undefined {
    return this.tasks.get(taskKey(run));
  }

  /** Whether the run is one that its node should execute now. */
  isWanted(run: Run, node: string): boolean {
    const task = this.task(run);
    if (task?.attempt !== run.attempt || !isOnNode(task.state)) return false;
    return task.state.nodeId === node;
  }

  /** How many tasks of the job have not ended. */
  unfinished(job: Job): number {
    let left = countIndexes(rangesOf(job.spec));
    let rows = 0;
    for (const task of this.tasks.values()) {
      if (task.jobId !== job.id) continue;
      rows++;
      const isOver = isEnded(task.state) || (task.state.kind === "waiting" && job.closed);
      if (isOver) left--;
    }
    return job.closed === undefined ? left : left - (countIndexes(rangesOf(job.spec)) - rows);
  }
}

/** A node may begin a held task at any moment. */
const isOnNode = (state: TaskState): state is ActiveState | HeldState =>
  isActive(state) || state.kind === "held";

class Ever implements AllRows {
  readonly #jobs = new Map<number, Job>();
  readonly #tasks = new Map<string, Task>();
  readonly idByName = new Map<string, number>();

  noteJob(job: Job): void {
    this.#jobs.set(job.id, job);
    this.idByName.set(job.spec.name, job.id);
  }

  noteTask(task: Task): void {
    this.#tasks.set(taskKey(task), task);
  }

  job(id: number): Job | undefined {
    return this.#jobs.get(id);
  }

  task(id: number, index: number): Task | undefined {
    return this.#tasks.get(taskKey({ jobId: id, index }));
  }

  jobs(): Iterable<Job> {
    return this.#jobs.values();
  }

  tasks(): Iterable<Task> {
    return this.#tasks.values();
  }
}

function replace<Key, Row>(rows: Map<Key, Row>, key: Key, after: Row | undefined): RowMove<Row> {
  const before = rows.get(key);
  if (after === undefined) rows.delete(key);
  else rows.set(key, after);
  return { before, after };
}
