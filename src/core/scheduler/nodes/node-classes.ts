import { limits } from "../../../limits.ts";
import { graphRequest } from "../../graph/request/graph-request.ts";
import { matchWork } from "../../graph/match/match-work.ts";
import type { ResourceChoice } from "../../graph/request/request.ts";
import type { ClusterId, NodeId } from "../../model/ids.ts";
import { nodeStateName, stateReason } from "../../model/node/node.ts";
import type { NodeRecord } from "../../state/nodes/node-record.ts";
import { filters } from "../filters/all.ts";
import type { Verdict } from "../filters/filter.ts";
import { hasGraphFor } from "../filters/graph-matches.ts";
import { whereMatches } from "../filters/where-matches.ts";
import type { NodeGraph } from "./node-graphs.ts";
import type { Request } from "../request.ts";

export const EXAMPLES_MAX = 3;

/** Nodes that answer a request, and every request that asks for less of the same, alike. */
export interface NodeClass {
  /** The first of them in the order of all nodes. */
  readonly record: NodeRecord;
  readonly cluster: ClusterId;
  count: number;
  /** The first few of them, with their places in the order of all nodes. */
  readonly examples: { readonly at: number; readonly name: string }[];
}

/**
 * All nodes, by what matters to one request: explanations judge each class once and count its
 * nodes. Valid until the next change of the state, for the request it was made for and for those
 * that leave out parts of it.
 */
export class NodeClasses {
  /** In the order of their first nodes. */
  readonly all: readonly NodeClass[];
  readonly records: readonly NodeRecord[];
  /** Of each record. */
  readonly classes: readonly NodeClass[];
  /** How often a class was judged: what an explanation costs. */
  judged = 0;
  readonly #verdicts = new Map<Request, readonly Verdict[]>();

  constructor(nodes: Iterable<NodeRecord>, request: Request) {
    const keyOf = keyFor(request);
    const byKey = new Map<string, NodeClass>();
    this.records = [...nodes];
    matchWork.steps += this.records.length * limits.nodeSteps;
    this.classes = this.records.map((record, at) => {
      const key = keyOf(record);
      let own = byKey.get(key);
      if (own === undefined) {
        own = { record, cluster: record.node.cluster, count: 0, examples: [] };
        byKey.set(key, own);
      }
      own.count++;
      if (own.count <= EXAMPLES_MAX) own.examples.push({ at, name: record.node.id });
      return own;
    });
    this.all = [...byKey.values()];
  }

  /** What each class says to the request, in their order. */
  verdicts(request: Request): readonly Verdict[] {
    let verdicts = this.#verdicts.get(request);
    if (verdicts === undefined) {
      verdicts = this.all.map(({ record }, at) =>
        at < limits.classesExplainedMax ? judge(request, record) : judgeBriefly(request, record),
      );
      this.judged += verdicts.length;
      this.#verdicts.set(request, verdicts);
    }
    return verdicts;
  }
}

/**
 * Matches the request with the graphs of all nodes, and yields between slices. Matches do not depend
 * on what runs, and graphs remember them: the explanation that follows, which must see all nodes at
 * one moment, only looks them up.
 */
export function* matchGraphs(
  nodes: ReadonlyMap<NodeId, NodeRecord>,
  request: ResourceChoice,
): Generator<undefined, void> {
  const asked = graphRequest(request);
  const refusing = new Set<NodeGraph>();
  let matched = 0;
  let firstStep = matchWork.steps;
  for (const { graph } of nodes.values()) {
    if (graph.waysFor(asked).length === 0 && refusing.size < limits.classesExplainedMax) {
      graph.refusals(asked);
      refusing.add(graph);
    }
    const isFull = matchWork.steps - firstStep >= limits.stepsPerSliceMax;
    if (!isFull && ++matched % limits.matchesPerSliceMax !== 0) continue;
    yield;
    firstStep = matchWork.steps;
  }
}

/** The first refusal; one that can never change is worth more than one that can. */
export function judge(request: Request, record: NodeRecord): Verdict {
  let notNow: Verdict | undefined;
  for (const filter of filters) {
    const verdict = filter.check(request, record);
    if (verdict.kind === "never") return verdict;
    if (verdict.kind === "not-now") notNow ??= verdict;
  }
  return notNow ?? { kind: "yes" };
}

/** The same verdict. Why a graph does not match takes long to find out, for thousands of graphs too long. */
function judgeBriefly(request: Request, record: NodeRecord): Verdict {
  if (request.request === undefined) return judge(request, record);
  const where = whereMatches.check(request, record);
  if (where.kind !== "yes") return where;
  if (hasGraphFor(request, record)) return judge(request, record);
  const reason = `does not have the graph asked for (${limits.classesExplainedMax} kinds of nodes are explained)`;
  return { kind: "never", reason };
}

/** Says the same of nodes that no filter can tell apart by such a request. */
function keyFor({ needs, request, where }: Request): (record: NodeRecord) => string {
  const names = Object.keys(needs);
  const labels = Object.keys(where.labels ?? {});
  const graphs = new Map<NodeGraph, number>();
  const graphNumber = (graph: NodeGraph): number => {
    let number = graphs.get(graph);
    if (number === undefined) graphs.set(graph, (number = graphs.size));
    return number;
  };
  return (record) => {
    const { node, free, tasks } = record;
    const state = nodeStateName(node, tasks.size);
    let key = `${node.cluster} ${state}`;
    const why = stateReason(node, state);
    if (why !== undefined) key += ` ${why.length}:${why}`;
    if (node.clusterAgent !== undefined) key += " agent";
    if (node.id === where.node) key += " named";
    if (request !== undefined) {
      key += ` ${graphNumber(record.graph)}`;
      // What an alternative takes of a node may be any of its resources.
      for (const name in free) key += ` ${name} ${node.capacity[name]} ${free[name]}`;
    } else {
      for (const name of names) key += ` ${node.capacity[name]} ${free[name]}`;
    }
    for (const name of labels) {
      const value = node.labels[name];
      key += value === undefined ? " -" : ` ${value.length}:${value}`;
    }
    return key;
  };
}
