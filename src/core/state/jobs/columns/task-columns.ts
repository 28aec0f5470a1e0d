import { invariant } from "../../../../lib/invariant.ts";
import { limits } from "../../../../limits.ts";
import type { ClusterId, JobId, NodeId } from "../../../model/ids.ts";
import type { Resources } from "../../../model/resources.ts";
import { noKinds, type Task, type TaskState } from "../../../model/job/task.ts";
import { decodeTask, encodeTask, NO_PAST } from "../task-codec.ts";
import { fitsColumns, UsageColumns } from "./usage-columns.ts";

type EndedState = Extract<TaskState, { kind: "succeeded" | "failed" | "cancelled" }>;

/** The fields of an ended task that many tasks share: all but where and when. */
type Outcome = Pick<Task, "attempt" | "failures" | "losses"> & {
  readonly takes: Resources | undefined;
  readonly progress: Task["progress"] | undefined;
  readonly state:
    | { readonly kind: "succeeded"; readonly cluster?: ClusterId }
    | Omit<Extract<EndedState, { kind: "failed" }>, "nodeId" | "startedAtMs" | "endedAtMs">
    | Omit<Extract<EndedState, { kind: "cancelled" }>, "nodeId" | "startedAtMs" | "endedAtMs">;
};

const NO_ROW = 0;
const AS_TEXT = 0xffff_ffff;
const NO_NODE = 0;

/** Nodes and outcomes of many tasks, each stored once and referred to by a number. */
export class TaskTables {
  readonly #nodes: NodeId[] = [];
  readonly #codeOfNode = new Map<NodeId, number>();
  readonly #outcomes: Outcome[] = [];
  readonly #codeOfOutcome = new Map<string, number>();
  /** Clusters that accepted or ran tasks. */
  readonly clusters = new Set<ClusterId>();
  /** The outcome of most tasks: success at the first attempt. */
  #plain = NO_ROW;

  /** Nodes of present and past attempts, as far as rows name them. */
  get nodes(): readonly NodeId[] {
    return this.#nodes;
  }

  hasNode(id: NodeId): boolean {
    return this.#codeOfNode.has(id);
  }

  codeOfNode(id: NodeId | undefined): number {
    if (id === undefined) return NO_NODE;
    let code = this.#codeOfNode.get(id);
    if (code === undefined) {
      code = this.#nodes.push(id);
      this.#codeOfNode.set(id, code);
    }
    return code;
  }

  nodeAt = (code: number): NodeId | undefined => this.#nodes[code - 1];

  outcomeAt(code: number): Outcome {
    const outcome = this.#outcomes[code - 1];
    invariant(outcome !== undefined, "an outcome has a number");
    return outcome;
  }

  /** undefined: there are too many different outcomes. */
  codeOfOutcome(task: Task, state: EndedState): number | undefined {
    const { attempt, failures, losses, takes, progress } = task;
    const isPlain =
      state.kind === "succeeded" &&
      attempt === 1 &&
      takes === undefined &&
      progress === undefined &&
      state.cluster === undefined &&
      failures + losses === 0;
    if (isPlain && this.#plain !== NO_ROW) return this.#plain;
    const { nodeId: _node, startedAtMs: _start, endedAtMs: _end, ...common } = state;
    const outcome = { attempt, failures, losses, takes, progress, state: common };
    const key = JSON.stringify(outcome);
    let code = this.#codeOfOutcome.get(key);
    if (code !== undefined) return code;
    if (this.#outcomes.length >= limits.taskOutcomesMax) return undefined;
    code = this.#outcomes.push(outcome);
    this.#codeOfOutcome.set(key, code);
    if (isPlain) this.#plain = code;
    return code;
  }

  /** Records the nodes and clusters of a task, which stay recorded. */
  note({ state, past }: Task): void {
    if ("nodeId" in state) this.codeOfNode(state.nodeId);
    if (state.kind !== "offered" && "cluster" in state && state.cluster !== undefined) {
      this.clusters.add(state.cluster);
    }
    for (const { nodeId, cluster } of past) {
      this.codeOfNode(nodeId);
      if (cluster !== undefined) this.clusters.add(cluster);
    }
  }
}

/**
 * Rows of ended tasks at places 0 to size - 1, 24 bytes each: its start and end, the number of its
 * node and that of its outcome; and 16 more once one of them has a usage. A row with other fields
 * is kept as its stored text.
 */
export class TaskColumns {
  readonly tables: TaskTables;
  /** The number of rows of each kind, those kept as text included. */
  readonly kinds: Record<TaskState["kind"], number> = noKinds();
  rows = 0;
  /** Start and end of the task at each place, alternating. */
  readonly #times: Float64Array;
  /** Outcome and node of each place, alternating. */
  readonly #codes: Uint32Array;
  readonly #size: number;
  #usages: UsageColumns | undefined = undefined;
  #texts: Map<number, string> | undefined = undefined;

  constructor(size: number, tables = new TaskTables()) {
    this.tables = tables;
    this.#size = size;
    this.#times = new Float64Array(2 * size);
    this.#codes = new Uint32Array(2 * size);
  }

  has(at: number): boolean {
    return this.#codes[2 * at] !== NO_ROW;
  }

  /** `at` must be empty. */
  put(at: number, task: Task): void {
    const { state } = task;
    this.rows++;
    this.kinds[state.kind]++;
    this.tables.note(task);
    const code = isPlainRow(task, state) ? this.tables.codeOfOutcome(task, state) : undefined;
    if (code === undefined) {
      this.#texts ??= new Map();
      this.#texts.set(at, encodeTask(task));
      this.#codes[2 * at] = AS_TEXT;
      return;
    }
    const { nodeId, startedAtMs, endedAtMs } = state as EndedState;
    this.#codes[2 * at] = code;
    this.#codes[2 * at + 1] = this.tables.codeOfNode(nodeId);
    this.#times[2 * at] = startedAtMs ?? Number.NaN;
    this.#times[2 * at + 1] = endedAtMs;
    if (task.usage === undefined) return;
    this.#usages ??= new UsageColumns(this.#size);
    this.#usages.put(at, task.usage);
  }

  get(at: number, jobId: JobId, index: number): Task | undefined {
    const code = this.#codes[2 * at] ?? NO_ROW;
    if (code === NO_ROW) return undefined;
    if (code === AS_TEXT) return this.#fromText(at);
    const { state: common, attempt, failures, losses, ...rest } = this.tables.outcomeAt(code);
    const nodeId = this.tables.nodeAt(this.#codes[2 * at + 1] ?? NO_NODE);
    const started = this.#times[2 * at] ?? Number.NaN;
    const startedAtMs = Number.isNaN(started) ? undefined : started;
    const endedAtMs = this.#times[2 * at + 1] ?? 0;
    const state = { ...common, nodeId, startedAtMs, endedAtMs } as EndedState;
    const base = { jobId, index, attempt, state, failures, losses, past: NO_PAST };
    const usage = this.#usages?.get(at);
    const { takes, progress } = rest;
    if (takes === undefined && usage === undefined && progress === undefined) return base;
    const told = progress && { progress };
    return { ...base, ...(takes && { takes }), ...told, ...(usage && { usage }) };
  }

  /** Rows kept as text. */
  *texts(): Generator<Task> {
    for (const text of this.#texts?.values() ?? []) yield decodeTask(text);
  }

  kindAt(at: number): TaskState["kind"] | undefined {
    const code = this.#codes[2 * at] ?? NO_ROW;
    if (code === NO_ROW) return undefined;
    return code === AS_TEXT
      ? this.#fromText(at).state.kind
      : this.tables.outcomeAt(code).state.kind;
  }

  remove(at: number): void {
    const kind = this.kindAt(at);
    if (kind === undefined) return;
    this.rows--;
    this.kinds[kind]--;
    this.#codes[2 * at] = NO_ROW;
    this.#usages?.remove(at);
    this.#texts?.delete(at);
  }

  #fromText(at: number): Task {
    const text = this.#texts?.get(at);
    invariant(text !== undefined, "a row that is kept as text has one");
    return decodeTask(text);
  }
}

/** Past attempts, output reported by a cluster, and timestamps differ from task to task. */
const isPlainRow = (task: Task, state: TaskState): state is EndedState => {
  const { past, told, returns, progress, usage = {} } = task;
  const hasMoment = progress?.atMs !== undefined;
  const isUsual = past.length === 0 && told === undefined && returns === undefined && !hasMoment;
  return "endedAtMs" in state && isUsual && fitsColumns(usage);
};
