import { limits } from "../../../limits.ts";
import type { Allocation } from "../../graph/match/allocation.ts";
import { explainRefusal } from "../../graph/match/explain.ts";
import { distinctRefusals, type Refusal } from "../../graph/match/refusal.ts";
import { clusterGraph } from "../../graph/facts.ts";
import type { Graph } from "../../graph/graph.ts";
import {
  type GraphRequest,
  isResource,
  resourcesOfLeaves,
} from "../../graph/request/graph-request.ts";
import { type Layout, layOut } from "../../graph/layout.ts";
import { allocate } from "../../graph/match/match.ts";
import { subsystemsOf } from "../../graph/subsystems/node-subsystems.ts";
import type { Node } from "../../model/node/node.ts";
import { FactsPool } from "../../model/node/facts-pool.ts";
import { type ContainerVerdict, containerVerdict } from "../../model/node/container-facts.ts";
import { type FactEntry, factsOfCapacity, type NodeFacts } from "../../model/node/node-facts.ts";
import type { Resources } from "../../model/resources.ts";

/** The amounts that one alternative takes of an empty node; undefined: all of it. */
export interface Way {
  /** Its number among the alternatives of the request. */
  readonly alternative: number;
  readonly takes: Resources | undefined;
}

/**
 * A machine as a graph of one node. Processes are not bound to cores: parts of a machine (sockets, NUMA
 * domains) must be large enough for the request, but free capacity is compared by amounts.
 */
export class NodeGraph {
  /** Whether containers can be started there. */
  readonly containers: ContainerVerdict;
  readonly #layout: Layout;
  readonly #graph: Graph;
  readonly #memory: MatchMemory;
  #generation: number;
  #ways = new WeakMap<GraphRequest, readonly Way[]>();
  #refusals = new WeakMap<GraphRequest, readonly Refusal[]>();

  constructor(facts: NodeFacts, memory = new MatchMemory()) {
    this.#memory = memory;
    this.#generation = memory.generation;
    this.containers = containerVerdict(facts);
    const machine = { ...facts, name: "node" };
    this.#graph = clusterGraph("cluster", [machine]);
    const subsystems = subsystemsOf("cluster", [machine], this.#graph);
    this.#layout = layOut(this.#graph, new Map(subsystems.map((each) => [each.name, each])));
  }

  /** In order of preference, without alternatives that the node can never satisfy. */
  waysFor(request: GraphRequest): readonly Way[] {
    this.#dropOld();
    let ways = this.#ways.get(request);
    if (ways === undefined) {
      this.#memory.add();
      ways = request.alternatives.flatMap((each, alternative): Way[] => {
        const { allocation } = allocate(this.#layout, each);
        if (allocation === undefined) return [];
        return [{ alternative, takes: takenBy(this.#graph, allocation) }];
      });
      this.#ways.set(request, ways);
    }
    return ways;
  }

  /** Why the node can satisfy no alternative, in order of preference. */
  refusals(request: GraphRequest): readonly Refusal[] {
    this.#dropOld();
    let refusals = this.#refusals.get(request);
    if (refusals === undefined) {
      this.#memory.add();
      refusals = distinctRefusals(explainRefusal(this.#layout, request.compiled));
      this.#refusals.set(request, refusals);
    }
    return refusals;
  }

  /** When the caches of all graphs exceed their limit, each drops its own. */
  #dropOld(): void {
    if (this.#generation === this.#memory.generation) return;
    this.#generation = this.#memory.generation;
    this.#ways = new WeakMap();
    this.#refusals = new WeakMap();
  }
}

/** Limits the matches that all graphs of nodes cache together: requests and graphs may all differ. */
class MatchMemory {
  generation = 0;
  #count = 0;

  add(): void {
    if (++this.#count <= limits.graphMatchesKnownMax) return;
    this.#count = 1;
    this.generation++;
  }
}

function takenBy({ kinds, kindOf, endOf }: Graph, { picks }: Allocation): Resources | undefined {
  const leaves: [string, number][] = [];
  for (const { vertex, taken } of picks) {
    const { type = "" } = kinds[kindOf[vertex] ?? -1] ?? {};
    if (taken === 0 || vertex < 0) continue;
    if (type === "node" || type === "cluster") return undefined;
    const end = endOf[vertex] ?? 0;
    if (end === vertex + 1) leaves.push([type, taken]);
    for (let inner = vertex + 1; inner < end; inner++) {
      const kind = kinds[kindOf[inner] ?? -1];
      if (kind !== undefined && endOf[inner] === inner + 1) leaves.push([kind.type, kind.size]);
    }
  }
  return resourcesOfLeaves(leaves.filter(([type]) => isResource(type)));
}

/** The graphs of all nodes. Equal machines share one. */
export class NodeGraphs {
  readonly #factsOf: (node: Node) => NodeFacts;
  readonly #byFacts = new Map<string, NodeGraph>();
  readonly #memory = new MatchMemory();
  /** The declared software of a node is assembled on each call. */
  readonly #pool = new FactsPool();
  /** Equal lists of software are the same list. */
  readonly #numbers = new WeakMap<readonly FactEntry[], number>();
  #lists = 0;

  constructor(factsOf: (node: Node) => NodeFacts = ({ capacity }) => factsOfCapacity(capacity)) {
    this.#factsOf = factsOf;
  }

  of(node: Node): NodeGraph {
    const facts = this.#pool.share(this.#factsOf(node));
    const key = this.#keyOf(facts);
    let graph = this.#byFacts.get(key);
    if (graph === undefined) {
      // Machines come, go and change: drop all; those still in use are made again.
      if (this.#byFacts.size >= 2 * limits.nodesMax) this.#byFacts.clear();
      this.#byFacts.set(key, (graph = new NodeGraph(facts, this.#memory)));
    }
    return graph;
  }

  #keyOf({ software, ...counted }: NodeFacts): string {
    const lists = Object.entries(software).map(([name, list]) => {
      let number = this.#numbers.get(list);
      if (number === undefined) this.#numbers.set(list, (number = ++this.#lists));
      return [name, number];
    });
    return JSON.stringify([counted, lists]);
  }
}
