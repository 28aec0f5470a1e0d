import { limits } from "../../../limits.ts";
import type { ResourceChoice, ResourceRequest } from "../../graph/request/request.ts";
import { describeRequirement } from "../../graph/request/requirement.ts";
import { formatTaskId } from "../../model/ids.ts";
import type { Node, NodeLink } from "../../model/node/node.ts";
import { addInto, fits, type Resources } from "../../model/resources.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import type { ClusterPolicy } from "../clusters/choose-cluster.ts";
import type { ClusterReason } from "../clusters/cluster-reason.ts";
import { viewOf } from "../ledger.ts";
import { type NodeClass, NodeClasses } from "../nodes/node-classes.ts";
import { type PlacesView, pullingAnswers } from "./places.ts";
import { requestOf, type Request } from "../request.ts";
import type { QueuedJobTable } from "../queue/queued-jobs.ts";

/** One change that alone would let a task start at once. `describeChange` makes text of it. */
export interface SingleChange {
  /** Undefined: none was found, and not every change was tried. */
  readonly step: ChangeStep | undefined;
  /** 0: nobody has to act. Changes that reduce the request cost most. */
  readonly cost: number;
  /** Why a cheaper one may exist. */
  readonly limits: readonly TrialLimit[];
}

export type ChangeStep =
  | { readonly kind: "task-ends"; readonly task: string; readonly node: string }
  | { readonly kind: "undrain"; readonly node: string }
  | { readonly kind: "repair"; readonly node: string; readonly why: string }
  | { readonly kind: "bring-back"; readonly node: string; readonly link: NodeLink["kind"] }
  | {
      readonly kind: "cluster-state";
      readonly cluster: string;
      readonly reasons: readonly ClusterReason[];
    }
  | {
      readonly kind: "less";
      readonly resource: string;
      readonly free: number;
      readonly asked: number;
      readonly node: string;
    }
  | {
      readonly kind: "less-of-graph";
      readonly type: string;
      readonly count: number;
      readonly asked: number;
      readonly unit: string | undefined;
    }
  | { readonly kind: "any-node" | "any-cluster" | "any-kind"; readonly asked: string }
  | { readonly kind: "any-label"; readonly name: string; readonly asked: string }
  | { readonly kind: "without-requirement"; readonly requirement: string; readonly type: string };

type TrialLimit =
  | { readonly kind: "node-kinds" }
  | { readonly kind: "tasks"; readonly triedMax: number };

/** The state that it reads. */
export interface ChangeView extends PlacesView {
  readonly jobs: QueuedJobTable;
}

/** A step and what it costs. */
interface Costed {
  readonly step: ChangeStep;
  readonly cost: number;
}

/** The number of parts of a request that are tried one by one. */
const PARTS_MAX = 32;

/** The cheapest single change that would let a task of this request start now. */
export function cheapestChange(
  state: ChangeView,
  request: Request,
  policy: ClusterPolicy,
  nodes = new NodeClasses(state, request),
): SingleChange | undefined {
  const asked = requestOf(request);
  const trials = new Trials(state, policy, nodes);
  const startsNow = (other: Request): boolean => trials.startsNow(other);
  const ends = taskEnd(state, asked, nodes);
  const all = [
    ...(ends.change === undefined ? [] : [ends.change]),
    ...nodesBack(state, asked, nodes),
    ...clustersSay(state, request, policy, nodes),
    ...lessOfAmounts(state, asked, nodes),
    ...elsewhere(asked, startsNow),
    ...(asked.request === undefined ? [] : lessOfGraph(asked, asked.request, startsNow)),
  ];
  const best = all.reduce<Costed | undefined>(
    (best, each) => (best === undefined || each.cost < best.cost ? each : best),
    undefined,
  );
  const isFree = best?.cost === 0;
  const limited: readonly TrialLimit[] = [
    ...(trials.isOver && !isFree ? [{ kind: "node-kinds" } as const] : []),
    ...(ends.isLimited && !isFree ? [{ kind: "tasks", triedMax: TASKS_MAX } as const] : []),
  ];
  if (best !== undefined) return { ...best, limits: limited };
  if (limited.length === 0) return undefined;
  return { step: undefined, cost: Number.POSITIVE_INFINITY, limits: limited };
}

const TASKS_MAX = limits.tasksExplainedMax;

/** Whether other requests would start now. Bounded: stops after a number of checks. */
class Trials {
  readonly #state: ChangeView;
  readonly #policy: ClusterPolicy;
  readonly #nodes: NodeClasses;
  /** For trials with clusters alone: no node is ready. */
  readonly #noNodes: NodeClasses;
  #left: number = limits.changeChecksMax;
  #isOver = false;

  constructor(state: ChangeView, policy: ClusterPolicy, nodes: NodeClasses) {
    this.#state = state;
    this.#policy = policy;
    this.#nodes = nodes;
    this.#noNodes = new NodeClasses({ nodes: new Map(), filters: state.filters }, NOTHING);
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
    const { filters } = this.#state;
    if (this.#nodes.all.some(({ record }) => filters.allows(request, record))) return true;
    const answers = pullingAnswers(this.#state, request, this.#policy, this.#noNodes);
    return answers.some(({ verdict }) => verdict === "yes");
  }
}

/** A match with a graph costs as much as this many comparisons of amounts. */
const GRAPH_CHECK_COST = 20;
const NOTHING: Request = { needs: {}, request: undefined, select: undefined, where: {} };

/** A task whose end frees enough capacity; and whether there are too many to try all. */
function taskEnd(
  state: ChangeView,
  request: Request,
  nodes: NodeClasses,
): { readonly change?: Costed; readonly isLimited: boolean } {
  const { filters } = state;
  const hopeful = new Map<NodeClass, Set<Resources>>();
  for (const each of nodes.all) {
    const { record } = each;
    if (!filters.isReady(record) || !filters.everAllows(request, record)) continue;
    hopeful.set(each, new Set()); // held amounts of tasks whose end does not help
  }
  let looked = 0;
  for (const [at, record] of nodes.records.entries()) {
    const useless = hopeful.get(nodes.classes[at] as NodeClass);
    if (useless === undefined) continue;
    const { port } = request.where;
    const isPortTaken = port !== undefined && record.ports.has(port);
    for (const task of record.tasks) {
      if (++looked > TASKS_MAX) return { isLimited: true };
      const job = state.jobs.get(task.jobId)?.job;
      if (job === undefined || (isPortTaken && job.spec.where.port !== port)) continue;
      const held = task.takes ?? job.spec.needs;
      if (useless.has(held)) continue;
      const free = { ...record.free };
      addInto(free, held);
      const { node } = record;
      if (!filters.allows(request, viewOf(record, free))) {
        useless.add(held);
        continue;
      }
      const id = formatTaskId(task.jobId, task.index, job.spec.array !== undefined);
      const step = { kind: "task-ends", task: id, node: node.id } as const;
      return { change: { step, cost: 0 }, isLimited: false };
    }
  }
  return { isLimited: false };
}

/** A node that could serve it, if it accepted tasks. */
function* nodesBack(
  { filters }: ChangeView,
  request: Request,
  nodes: NodeClasses,
): Iterable<Costed> {
  for (const { record } of nodes.all) {
    if (filters.onlyReason(request, record)?.kind !== "not-ready") continue;
    yield wayBack(record.node);
  }
}

/** `undrain` does not make an unhealthy node accept tasks. */
function wayBack({ id, link, drain, sickness }: Node): Costed {
  if (link.kind !== "connected") {
    return { step: { kind: "bring-back", node: id, link: link.kind }, cost: 0.2 };
  }
  return sickness === undefined || drain !== undefined
    ? { step: { kind: "undrain", node: id }, cost: 0.1 }
    : { step: { kind: "repair", node: id, why: sickness.reason }, cost: 0.2 };
}

/** A cluster that could serve it, if it reported another state. */
function* clustersSay(
  state: ChangeView,
  request: Request,
  policy: ClusterPolicy,
  nodes: NodeClasses,
): Iterable<Costed> {
  for (const { cluster, verdict, reasons } of pullingAnswers(state, request, policy, nodes)) {
    if (verdict !== "not-now") continue;
    yield { step: { kind: "cluster-state", cluster, reasons }, cost: 0.3 };
  }
}

/** Less of one resource: as much as is free on some node. */
function* lessOfAmounts(
  { filters }: ChangeView,
  request: Request,
  nodes: NodeClasses,
): Iterable<Costed> {
  if (request.request !== undefined) return;
  const { needs } = request;
  for (const resource of Object.keys(needs)) {
    const { [resource]: asked = 0, ...others } = needs;
    let best: { readonly record: NodeRecord; readonly free: number } | undefined;
    for (const { record } of nodes.all) {
      const free = record.free[resource] ?? 0;
      if (free <= (best?.free ?? 0) || free >= asked || !fits(others, record.free)) continue;
      const less = { ...request, needs: { ...needs, [resource]: free } };
      if (filters.allows(less, record)) best = { record, free };
    }
    if (best === undefined) continue;
    const { free, record } = best;
    const step = { kind: "less", resource, free, asked, node: record.node.id } as const;
    yield { step, cost: 0.4 + (1 - free / asked) };
  }
}

/** Another place than the requested one. */
function* elsewhere(request: Request, startsNow: (other: Request) => boolean): Iterable<Costed> {
  const { kind, cluster, node, labels } = request.where;
  if (node !== undefined && startsNow({ ...request, where: without(request.where, "node") })) {
    yield { step: { kind: "any-node", asked: node }, cost: 0.7 };
  }
  if (
    cluster !== undefined &&
    startsNow({ ...request, where: without(request.where, "cluster") })
  ) {
    yield { step: { kind: "any-cluster", asked: cluster }, cost: 0.7 };
  }
  if (kind !== undefined && startsNow({ ...request, where: without(request.where, "kind") })) {
    yield { step: { kind: "any-kind", asked: kind }, cost: 0.7 };
  }
  for (const label of Object.keys(labels ?? {}).slice(0, PARTS_MAX)) {
    const where = { ...request.where, labels: without(labels ?? {}, label) };
    if (startsNow({ ...request, where })) {
      const asked = labels?.[label] ?? "";
      yield { step: { kind: "any-label", name: label, asked }, cost: 0.7 };
    }
  }
}

function without<T extends object>(from: T, name: string): T {
  const rest = Object.entries(from).filter(([key]) => key !== name);
  return Object.fromEntries(rest) as T;
}

/** Less of one type, or one requirement less, in the preferred alternative. */
function* lessOfGraph(
  request: Request,
  choice: ResourceChoice,
  startsNow: (other: Request) => boolean,
): Iterable<Costed> {
  const [trees = []] = choice;
  const helps = (changed: readonly ResourceRequest[]): boolean =>
    startsNow({ ...request, request: [changed] });
  for (const { at, vertex } of verticesOf(trees).slice(0, PARTS_MAX)) {
    for (const [number, requirement] of vertex.requires.entries()) {
      const less = { ...vertex, requires: vertex.requires.toSpliced(number, 1) };
      if (!helps(replaced(trees, at, less))) continue;
      const what = describeRequirement(requirement);
      const { type } = vertex;
      yield { step: { kind: "without-requirement", requirement: what, type }, cost: 1.2 };
    }
    const count = largest(vertex.count, (fewer) =>
      helps(replaced(trees, at, { ...vertex, count: fewer })),
    );
    if (count === 0) continue;
    const { type, unit, count: asked } = vertex;
    const step = { kind: "less-of-graph", type, count, asked, unit } as const;
    yield { step, cost: 0.4 + (1 - count / asked) };
  }
}

/** The largest whole number below `asked` that is enough. `isEnough` is monotonic. */
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

/** From the top down, with their paths. */
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
