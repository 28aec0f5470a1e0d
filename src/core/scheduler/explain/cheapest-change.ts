import { limits } from "../../../limits.ts";
import type { ResourceChoice, ResourceRequest } from "../../graph/request/request.ts";
import { describeRequirement } from "../../graph/request/requirement.ts";
import { formatTaskId } from "../../model/ids.ts";
import { isSchedulable, type Node } from "../../model/node/node.ts";
import { addInto, fits, formatAmount, type Resources } from "../../model/resources.ts";
import type { State } from "../../state/state.ts";
import type { NodeRecord } from "../../state/nodes/node-record.ts";
import type { ClusterPolicy } from "../clusters/choose-cluster.ts";
import { hasGraphFor } from "../filters/graph-matches.ts";
import { whereMatches } from "../filters/where-matches.ts";
import { type NodeClass, NodeClasses } from "../nodes/node-classes.ts";
import type { NodeGraph } from "../nodes/node-graphs.ts";
import { pullingAnswers } from "./places.ts";
import { requestOf, type Request } from "../request.ts";
import { type NodeCapacity, takesNow } from "../nodes/placement-cost.ts";

/** One thing that, changed alone, would let a task start at once. */
export interface SingleChange {
  readonly text: string;
  /** 0: nobody has to do anything. What is asked for is given up last. */
  readonly cost: number;
}

/** Parts of a request that are tried one by one. */
const PARTS_MAX = 32;

/** The cheapest single change that would let a task of this request start now. */
export function cheapestChange(
  state: State,
  request: Request,
  policy: ClusterPolicy,
  nodes = new NodeClasses(state.nodes.values(), request),
): SingleChange | undefined {
  const asked = requestOf(request);
  const trials = new Trials(state, policy, nodes);
  const startsNow = (other: Request): boolean => trials.startsNow(other);
  const ends = taskEnd(state, asked, nodes);
  const all = [
    ...(ends.change === undefined ? [] : [ends.change]),
    ...nodesBack(asked, nodes),
    ...clustersSay(state, request, policy, nodes),
    ...lessOfAmounts(asked, nodes),
    ...elsewhere(asked, startsNow),
    ...(asked.request === undefined ? [] : lessOfGraph(asked, asked.request, startsNow)),
  ];
  const best = all.reduce<SingleChange | undefined>(
    (best, each) => (best === undefined || each.cost < best.cost ? each : best),
    undefined,
  );
  if (best?.cost === 0) return best;
  const limited = [
    ...(trials.isOver ? ["there are too many kinds of nodes to try every change"] : []),
    ...(ends.isLimited ? [`of tasks under way the ends of ${TASKS_MAX} were tried`] : []),
  ];
  if (limited.length === 0) return best;
  const text = best?.text ?? "none was found";
  return { cost: Number.POSITIVE_INFINITY, ...best, text: `${text} (${limited.join("; ")})` };
}

const TASKS_MAX = limits.tasksExplainedMax;

/** Whether other requests would start now. Bounded: no more is tried once enough was looked at. */
class Trials {
  readonly #state: State;
  readonly #policy: ClusterPolicy;
  readonly #nodes: NodeClasses;
  #left: number = limits.changeChecksMax;
  #isOver = false;

  constructor(state: State, policy: ClusterPolicy, nodes: NodeClasses) {
    this.#state = state;
    this.#policy = policy;
    this.#nodes = nodes;
  }

  /** Whether a change was not tried. */
  get isOver(): boolean {
    return this.#isOver;
  }

  startsNow(request: Request): boolean {
    const cost = this.#nodes.all.length * (request.request === undefined ? 1 : GRAPH_CHECK_COST);
    if (this.#isOver || cost > this.#left) {
      this.#isOver = true;
      return false;
    }
    this.#left -= cost;
    this.#nodes.judged += this.#nodes.all.length;
    if (this.#nodes.all.some(({ record }) => isReadyFor(request, record))) return true;
    const answers = pullingAnswers(this.#state, request, this.#policy, NO_NODES);
    return answers.some(({ verdict }) => verdict === "yes");
  }
}

/** A match with a graph takes so many times as long as a comparison of amounts. */
const GRAPH_CHECK_COST = 20;
/** No node is ready when clusters are asked. */
const NO_NODES = new NodeClasses([], {
  needs: {},
  request: undefined,
  select: undefined,
  where: {},
});

const isReadyFor = (request: Request, record: NodeRecord): boolean =>
  isSchedulable(record.node) &&
  couldTake(request, record) &&
  takesNow(request, record) !== undefined;

/** Whether the node would do if it were connected, and empty. */
const couldTake = (request: Request, record: NodeRecord): boolean =>
  whereMatches.check(request, record).kind === "yes" && hasGraphFor(request, record);

/** A node with more free than it has. Its graph is made only when a request asks for it. */
class Emptier implements NodeCapacity {
  readonly node: Node;
  readonly free: Resources;
  readonly #record: NodeRecord;

  constructor(record: NodeRecord, free: Resources) {
    this.node = record.node;
    this.free = free;
    this.#record = record;
  }

  get graph(): NodeGraph {
    return this.#record.graph;
  }
}

/** A task whose end gives room; whether there are too many to try them all. */
function taskEnd(
  state: State,
  request: Request,
  nodes: NodeClasses,
): { readonly change?: SingleChange; readonly isLimited: boolean } {
  const hopeful = new Map<NodeClass, Set<Resources>>();
  for (const each of nodes.all) {
    const { record } = each;
    if (!isSchedulable(record.node) || !couldTake(request, record)) continue;
    if (request.request === undefined && !fits(request.needs, record.node.capacity)) continue;
    hopeful.set(each, new Set()); // what tasks hold whose end does not help
  }
  let looked = 0;
  for (const [at, record] of nodes.records.entries()) {
    const useless = hopeful.get(nodes.classes[at] as NodeClass);
    if (useless === undefined) continue;
    for (const task of record.tasks) {
      if (++looked > TASKS_MAX) return { isLimited: true };
      const job = state.jobs.get(task.jobId)?.job;
      if (job === undefined) continue;
      const held = task.takes ?? job.spec.needs;
      if (useless.has(held)) continue;
      const free = { ...record.free };
      addInto(free, held);
      const { node } = record;
      if (takesNow(request, new Emptier(record, free)) === undefined) {
        useless.add(held);
        continue;
      }
      const id = formatTaskId(task.jobId, task.index, job.spec.array !== undefined);
      const text = `none: it starts when task ${id} on node ${node.id} ends`;
      return { change: { text, cost: 0 }, isLimited: false };
    }
  }
  return { isLimited: false };
}

/** A node that has room and takes no tasks. */
function* nodesBack(request: Request, nodes: NodeClasses): Iterable<SingleChange> {
  for (const { record } of nodes.all) {
    const { node } = record;
    if (isSchedulable(node) || !couldTake(request, record)) continue;
    if (takesNow(request, record) === undefined) continue;
    if (node.link.kind === "connected") {
      yield { text: `undrain node ${node.id}: busbar nodes undrain ${node.id}`, cost: 0.1 };
    } else {
      yield { text: `bring back node ${node.id}, which is ${node.link.kind}`, cost: 0.2 };
    }
  }
}

/** A cluster that would do if it said something else of itself. */
function* clustersSay(
  state: State,
  request: Request,
  policy: ClusterPolicy,
  nodes: NodeClasses,
): Iterable<SingleChange> {
  for (const { cluster, verdict, reasons } of pullingAnswers(state, request, policy, nodes)) {
    if (verdict !== "not-now") continue;
    yield { text: `the state of cluster ${cluster}: ${reasons.join("; ")}`, cost: 0.3 };
  }
}

/** Less of one resource, as much as is free on some node. */
function* lessOfAmounts(request: Request, nodes: NodeClasses): Iterable<SingleChange> {
  if (request.request !== undefined) return;
  const { needs } = request;
  const records = nodes.all
    .map(({ record }) => record)
    .filter((record) => isSchedulable(record.node) && couldTake(request, record));
  for (const name of Object.keys(needs)) {
    const { [name]: asked = 0, ...others } = needs;
    let best: { readonly record: NodeRecord; readonly free: number } | undefined;
    for (const record of records) {
      const free = record.free[name] ?? 0;
      if (free <= (best?.free ?? 0) || free >= asked) continue;
      if (fits(others, record.free)) best = { record, free };
    }
    if (best === undefined) continue;
    const text = `ask for ${formatAmount(name, best.free)} instead of ${formatAmount(name, asked)}`;
    yield {
      text: `${text}: node ${best.record.node.id} has that free`,
      cost: 0.4 + (1 - best.free / asked),
    };
  }
}

/** Not where it was asked for. */
function* elsewhere(
  request: Request,
  startsNow: (other: Request) => boolean,
): Iterable<SingleChange> {
  const { kind, cluster, node, labels } = request.where;
  if (node !== undefined && startsNow({ ...request, where: without(request.where, "node") })) {
    yield { text: `do not ask for node ${node}`, cost: 0.7 };
  }
  if (
    cluster !== undefined &&
    startsNow({ ...request, where: without(request.where, "cluster") })
  ) {
    yield { text: `do not ask for cluster ${cluster}`, cost: 0.7 };
  }
  if (kind !== undefined && startsNow({ ...request, where: without(request.where, "kind") })) {
    yield { text: `do not ask for ${kind} clusters only`, cost: 0.7 };
  }
  for (const label of Object.keys(labels ?? {}).slice(0, PARTS_MAX)) {
    const where = { ...request.where, labels: without(labels ?? {}, label) };
    if (startsNow({ ...request, where })) {
      yield { text: `do not ask for label ${label}=${labels?.[label]}`, cost: 0.7 };
    }
  }
}

function without<T extends object>(from: T, name: string): T {
  const rest = Object.entries(from).filter(([key]) => key !== name);
  return Object.fromEntries(rest) as T;
}

/** Less of one thing, or one requirement less, in the alternative that is preferred. */
function* lessOfGraph(
  request: Request,
  choice: ResourceChoice,
  startsNow: (other: Request) => boolean,
): Iterable<SingleChange> {
  const [trees = []] = choice;
  const helps = (changed: readonly ResourceRequest[]): boolean =>
    startsNow({ ...request, request: [changed] });
  for (const { at, vertex } of verticesOf(trees).slice(0, PARTS_MAX)) {
    for (const [number, requirement] of vertex.requires.entries()) {
      const less = { ...vertex, requires: vertex.requires.toSpliced(number, 1) };
      if (!helps(replaced(trees, at, less))) continue;
      const what = describeRequirement(requirement);
      yield { text: `do not require ${what} of the ${vertex.type}`, cost: 1.2 };
    }
    const count = largest(vertex.count, (fewer) =>
      helps(replaced(trees, at, { ...vertex, count: fewer })),
    );
    if (count === 0) continue;
    const unit = vertex.unit === undefined ? "" : ` ${vertex.unit}`;
    const text = `ask for ${count}${unit} instead of ${vertex.count}${unit} of ${vertex.type}`;
    yield { text, cost: 0.4 + (1 - count / vertex.count) };
  }
}

/** The largest whole number below `asked` that is enough; what is enough is enough with less. */
function largest(asked: number, isEnough: (count: number) => boolean): number {
  let low = 0;
  let high = Math.ceil(asked) - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (isEnough(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

type Path = readonly number[];

/** From the top down, with where they stand. */
function verticesOf(
  trees: readonly ResourceRequest[],
  above: Path = [],
): readonly { readonly at: Path; readonly vertex: ResourceRequest }[] {
  return trees.flatMap((vertex, number) => {
    const at = [...above, number];
    return [{ at, vertex }, ...verticesOf(vertex.with, at)];
  });
}

function replaced(
  trees: readonly ResourceRequest[],
  [first, ...rest]: Path,
  by: ResourceRequest,
): readonly ResourceRequest[] {
  return trees.map((tree, number) => {
    if (number !== first) return tree;
    return rest.length === 0 ? by : { ...tree, with: replaced(tree.with, rest, by) };
  });
}
