import type { ResourceChoice, ResourceRequest } from "../../../src/core/graph/request/request.ts";
import { describeRequirement } from "../../../src/core/graph/request/requirement.ts";
import { formatTaskId } from "../../../src/core/model/ids.ts";
import { isSchedulable, nodeStateName } from "../../../src/core/model/node/node.ts";
import type {
  SingleChange,
  ChangeStep,
} from "../../../src/core/scheduler/explain/cheapest-change.ts";
import { fits } from "../../../src/core/model/resources.ts";
import { addInto } from "../../../src/core/model/resources.ts";
import type { State } from "../../../src/core/state/state.ts";
import type { NodeRecord } from "../../core/scheduler/nodes/node-record.ts";
import type { ClusterPolicy } from "../../../src/core/scheduler/clusters/choose-cluster.ts";
import { judge } from "./explain.ts";
import { clusterAnswers } from "./places.ts";
import { requestOf, type Request } from "../../../src/core/scheduler/request.ts";

interface Costed {
  readonly step: ChangeStep;
  readonly cost: number;
}

/** The parts of a request that are tried one by one. */
const PARTS_MAX = 32;

/** The cheapest single change that would let a task of this request start now. */
export function cheapestChange(
  state: State,
  request: Request,
  policy: ClusterPolicy,
): SingleChange | undefined {
  const asked = requestOf(request);
  const startsNow = (other: Request): boolean =>
    [...state.nodes.values()].some((one) => judge(state.filters, other, one).kind === "yes") ||
    clusterAnswers(state, other, policy).some(({ verdict }) => verdict === "yes");
  const all = [
    ...taskEnds(state, asked),
    ...nodesBack(state, asked),
    ...clustersSay(state, asked, policy),
    ...lessOfAmounts(state, asked),
    ...elsewhere(asked, startsNow),
    ...(asked.request === undefined ? [] : lessOfGraph(asked, asked.request, startsNow)),
  ];
  const best = all.reduce<Costed | undefined>(
    (best, each) => (best === undefined || each.cost < best.cost ? each : best),
    undefined,
  );
  return best && { ...best, limits: [] };
}

/** A running task whose end frees capacity. */
function* taskEnds(state: State, request: Request): Iterable<Costed> {
  for (const record of state.nodes.values()) {
    for (const task of record.tasks) {
      const job = state.jobs.get(task.jobId)?.job;
      if (job === undefined) continue;
      const free = { ...record.free };
      addInto(free, task.takes ?? job.spec.needs);
      const { node, tasks, graph } = record;
      const own = job.spec.where.port;
      const ports = { has: (port: number) => port !== own && record.ports.has(port) };
      const emptier = { node, tasks, free, graph, ports };
      if (judge(state.filters, request, emptier).kind !== "yes") continue;
      const id = formatTaskId(task.jobId, task.index, job.spec.array !== undefined);
      yield { step: { kind: "task-ends", task: id, node: node.id }, cost: 0 };
      return;
    }
  }
}

/** A node with free capacity that accepts no tasks. */
function* nodesBack(state: State, request: Request): Iterable<Costed> {
  for (const record of state.nodes.values()) {
    const { node } = record;
    if (isSchedulable(node)) continue;
    const { sickness: _s, quarantine: _q, ...well } = node;
    const link = { kind: "connected", session: 1, sinceMs: 0 } as const;
    const { free, graph, tasks, ports } = record;
    const ready = { node: { ...well, link, drain: undefined }, free, graph, tasks, ports };
    if (judge(state.filters, request, ready).kind !== "yes") continue;
    if (nodeStateName(node, 0) === "unhealthy") {
      const why = node.sickness?.reason ?? "";
      yield { step: { kind: "repair", node: node.id, why }, cost: 0.2 };
    } else if (node.link.kind === "connected") {
      yield { step: { kind: "undrain", node: node.id }, cost: 0.1 };
    } else {
      yield { step: { kind: "bring-back", node: node.id, link: node.link.kind }, cost: 0.2 };
    }
  }
}

/** A cluster that would accept the task if it reported another state. */
function* clustersSay(state: State, request: Request, policy: ClusterPolicy): Iterable<Costed> {
  for (const { cluster, verdict, kind, reasons } of clusterAnswers(state, request, policy)) {
    if (verdict !== "not-now" || kind !== "pulling") continue;
    yield { step: { kind: "cluster-state", cluster, reasons }, cost: 0.3 };
  }
}

/** Less of one resource: as much as some node has free. */
function* lessOfAmounts(state: State, request: Request): Iterable<Costed> {
  if (request.request !== undefined) return;
  const { needs } = request;
  for (const name of Object.keys(needs)) {
    const { [name]: asked = 0, ...others } = needs;
    let best: { readonly record: NodeRecord; readonly free: number } | undefined;
    for (const record of state.nodes.values()) {
      const free = record.free[name] ?? 0;
      if (free <= (best?.free ?? 0) || free >= asked || !fits(others, record.free)) continue;
      const less = { ...request, needs: { ...needs, [name]: free } };
      if (judge(state.filters, less, record).kind === "yes") best = { record, free };
    }
    if (best === undefined) continue;
    const { free, record } = best;
    yield {
      step: { kind: "less", resource: name, free, asked, node: record.node.id },
      cost: 0.4 + (1 - free / asked),
    };
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
      yield { step: { kind: "any-label", name: label, asked: labels?.[label] ?? "" }, cost: 0.7 };
    }
  }
}

function without<T extends object>(from: T, name: string): T {
  const rest = Object.entries(from).filter(([key]) => key !== name);
  return Object.fromEntries(rest) as T;
}

/** Less of one resource, or one requirement less, in the preferred alternative. */
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
    const cost = 0.4 + (1 - count / asked);
    yield { step: { kind: "less-of-graph", type, count, asked, unit }, cost };
  }
}

/** The largest integer below `asked` that suffices; if a number suffices, so does any smaller one. */
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

/** From the top down, with their positions. */
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
