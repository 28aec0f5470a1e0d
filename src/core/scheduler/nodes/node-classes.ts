import { limits } from "../../../limits.ts";
import { graphRequest } from "../../graph/request/graph-request.ts";
import { matchWork } from "../../graph/match/match-work.ts";
import type { ResourceChoice } from "../../graph/request/request.ts";
import type { ClusterId, NodeId } from "../../model/ids.ts";
import type { NodeRecord } from "./node-record.ts";
import type { FilterChain } from "../filters/chain.ts";
import type { Verdict } from "../filters/filter.ts";
import type { NodeGraph } from "./node-graphs.ts";
import type { Request } from "../request.ts";

export const EXAMPLES_MAX = 3;

/** Nodes, and the filters that answer for them. */
export interface NodesView {
  readonly nodes: ReadonlyMap<NodeId, NodeRecord>;
  readonly filters: FilterChain;
}

export interface Example {
  readonly at: number;
  readonly name: string;
}

/** Nodes that give equal answers to a request, and to every smaller request of the same kind. */
export interface NodeClass {
  /** The first of them in the order of all nodes. */
  readonly record: NodeRecord;
  readonly cluster: ClusterId;
  count: number;
  /** The first few of them, with their positions in the order of all nodes. */
  readonly examples: Example[];
}

/**
 * All nodes, in classes by what matters to one request: explanations check each class once and count
 * its nodes. Valid until the next change of the state, for its request and for requests that leave out
 * parts of it.
 */
export class NodeClasses {
  /** In the order of their first nodes. */
  readonly all: readonly NodeClass[];
  readonly records: readonly NodeRecord[];
  /** The class of each record. */
  readonly classes: readonly NodeClass[];
  /** How often a class was checked: the cost of an explanation. */
  judged = 0;
  readonly #filters: FilterChain;
  readonly #verdicts = new Map<Request, readonly Verdict[]>();

  constructor({ nodes, filters }: NodesView, request: Request) {
    this.#filters = filters;
    const keyOf = filters.nodeKey(request);
    const byKey = new Map<string, NodeClass>();
    this.records = [...nodes.values()];
    matchWork.steps += this.records.length * limits.nodeSteps;
    this.classes = this.records.map((record, at) => {
      const key = `${record.node.cluster} ${keyOf(record)}`;
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

  /** The answer of each class to the request, in their order. */
  verdicts(request: Request): readonly Verdict[] {
    let verdicts = this.#verdicts.get(request);
    if (verdicts === undefined) {
      verdicts = this.all.map(({ record }, at) =>
        this.#filters.judge(request, record, at >= limits.classesExplainedMax),
      );
      this.judged += verdicts.length;
      this.#verdicts.set(request, verdicts);
    }
    return verdicts;
  }
}

/**
 * Matches the request with the graphs of all nodes, and yields between slices. Matches do not depend on
 * running tasks, and graphs cache them: the explanation that follows, which must see all nodes at one
 * moment, only looks them up.
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
