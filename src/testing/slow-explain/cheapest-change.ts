import type { ResourceChoice, ResourceRequest } from "../../core/graph/request/request.ts";
import { describeRequirement } from "../../core/graph/request/requirement.ts";
import { formatTaskId } from "../../core/model/ids.ts";
import { isSchedulable } from "../../core/model/node/node.ts";
import { fits, formatAmount } from "../../core/model/resources.ts";
import { addInto } from "../../core/model/resources.ts";
import type { State } from "../../core/state/state.ts";
import type { NodeRecord } from "../../core/state/nodes/node-record.ts";
import type { ClusterPolicy } from "../../core/scheduler/clusters/choose-cluster.ts";
import { judge } from "./explain.ts";
import { graphMatches } from "../../core/scheduler/filters/graph-matches.ts";
import { whereMatches } from "../../core/scheduler/filters/where-matches.ts";
import { clusterAnswers } from "./places.ts";
import { requestOf, type Request } from "../../core/scheduler/request.ts";
import { takesNow } from "../../core/scheduler/nodes/placement-cost.ts";

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
): SingleChange | undefined {
  const asked = requestOf(request);
  const startsNow = (other: Request): boolean =>
    [...state.nodes.values()].some((record) => judge(other, record).kind === "yes") ||
    clusterAnswers(state, other, policy).some(({ verdict }) => verdict === "yes");
  const all = [
    ...taskEnds(state, asked),
    ...nodesBack(state, asked),
    ...clustersSay(state, asked, policy),
    ...lessOfAmounts(state, asked),
    ...elsewhere(asked, startsNow),
    ...(asked.request === undefined ? [] : lessOfGraph(asked, asked.request, startsNow)),
  ];
  return all.reduce<SingleChange | undefined>(
    (best, each) => (best === undefined || each.cost < best.cost ? each : best),
    undefined,
  );
}

/** Whether the node would do if it were connected, and empty. */
const couldTake = (request: Request, record: NodeRecord): boolean =>
  whereMatches.check(request, record).kind === "yes" &&
  graphMatches.check(request, record).kind === "yes";

/** A task whose end gives room. */
function* taskEnds(state: State, request: Request): Iterable<SingleChange> {
  for (const record of state.nodes.values()) {
    if (!isSchedulable(record.node) || !couldTake(request, record)) continue;
    for (const task of record.tasks) {
      const job = state.jobs.get(task.jobId)?.job;
      if (job === undefined) continue;
      const free = { ...record.free };
      addInto(free, task.takes ?? job.spec.needs);
      if (takesNow(request, { node: record.node, graph: record.graph, free }) === undefined)
        continue;
      const id = formatTaskId(task.jobId, task.index, job.spec.array !== undefined);
      yield { text: `none: it starts when task ${id} on node ${record.node.id} ends`, cost: 0 };
      return;
    }
  }
}

/** A node that has room and takes no tasks. */
function* nodesBack(state: State, request: Request): Iterable<SingleChange> {
  for (const record of state.nodes.values()) {
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
): Iterable<SingleChange> {
  for (const { cluster, verdict, kind, reasons } of clusterAnswers(state, request, policy)) {
    if (verdict !== "not-now" || kind !== "pulling") continue;
    yield { text: `the state of cluster ${cluster}: ${reasons.join("; ")}`, cost: 0.3 };
  }
}

/** Less of one resource, as much as is free on some node. */
function* lessOfAmounts(state: State, request: Request): Iterable<SingleChange> {
  if (request.request !== undefined) return;
  const { needs } = request;
  for (const name of Object.keys(needs)) {
    const { [name]: asked = 0, ...others } = needs;
    let best: { readonly record: NodeRecord; readonly free: number } | undefined;
    for (const record of state.nodes.values()) {
      const free = record.free[name] ?? 0;
      const isOther = !isSchedulable(record.node) || !couldTake(request, record);
      if (isOther || free <= (best?.free ?? 0) || free >= asked) continue;
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
