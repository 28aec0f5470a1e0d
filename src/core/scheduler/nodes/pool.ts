import { OrderedTree } from "../../../lib/collections/ordered-tree.ts";
import type { ClusterId } from "../../model/ids.ts";
import { isShareRequest, SHARE_RESOURCE } from "../../model/job/energy.ts";
import { NO_RESOURCES, type Resources } from "../../model/resources.ts";
import type { NodeRecord } from "./node-record.ts";
import type { FilterChain } from "../filters/chain.ts";
import { rareNames } from "../filters/has-resources.ts";
import type { Fleet } from "./fleet.ts";
import { FreedNodes } from "./freed-nodes.ts";
import { NodeLevels } from "./node-levels.ts";
import { FreeEdges } from "../power/free-edges.ts";
import type { PlannerWork } from "../planner-work.ts";
import type { Request, RequestClass } from "../request.ts";
import { WaitingLanes } from "../queue/waiting-lanes.ts";

/** With more freed nodes than this, only the planner tries a class with a graph request. */
const TRIED_NODES_MAX = 32;

export interface PoolTerms {
  readonly key: string;
  /** Of one of its classes. */
  readonly request: Request;
  /** It contains all nodes of a place, for classes with different requests. */
  readonly isShared: boolean;
}

/** The nodes of a pool that are in one cluster. */
interface ClusterNodes {
  readonly levels: NodeLevels;
  /** The best of them; valid until one of them changes, joins or leaves. */
  best: { readonly record: NodeRecord | undefined } | undefined;
}

/**
 * The schedulable nodes that can satisfy a set of requests which filters do not distinguish;
 * and the lanes that wait for one of these nodes.
 */
export class Pool {
  readonly key: string;
  readonly asked: Request;
  readonly isShared: boolean;
  classes = 0;
  readonly nodes: NodeLevels;
  /** Classes that search only their candidates and the freed nodes. */
  readonly narrowed: OrderedTree<RequestClass>;
  readonly freed: FreedNodes;
  readonly waiting: WaitingLanes;
  /** For pools of energy shares: nodes with power and without a share. */
  readonly freeEdges = new FreeEdges();
  readonly #isOfShares: boolean;
  /** The number of narrowed classes that fit on none of the freed nodes. */
  #tried = 0;
  /** Made when a class first chooses between clusters. */
  #byCluster: Map<ClusterId, ClusterNodes> | undefined = undefined;
  readonly #clusterNodesOf = new Map<NodeRecord, ClusterNodes>();

  readonly #filters: FilterChain;
  readonly #work: PlannerWork;
  /** The resources by which requests and free capacity are compared first. */
  readonly #dimensions: readonly string[];

  constructor(
    { key, request, isShared }: PoolTerms,
    { filters, work }: Pick<Fleet, "filters" | "work">,
  ) {
    this.key = key;
    this.asked = request;
    this.isShared = isShared;
    this.#filters = filters;
    this.#work = work;
    const least = filters.leastFree(request);
    const isOfAmounts = isShared || least !== NO_RESOURCES;
    this.#dimensions = isOfAmounts ? ["cpu", "memory", ...(isShared ? [] : rareNames(least))] : [];
    this.#isOfShares = isShared || isShareRequest(request.needs);
    this.nodes = new NodeLevels(filters, work, isShared);
    const before = (a: RequestClass, b: RequestClass): boolean => a.number < b.number;
    this.narrowed = new OrderedTree({ before, amountsOf: ({ amounts }) => amounts }, work);
    this.freed = new FreedNodes(this.#dimensions, work);
    this.waiting = new WaitingLanes(({ amounts }) => amounts, work);
  }

  /** Whether a ready node belongs to this pool. */
  allows(record: NodeRecord): boolean {
    if (!this.isShared) return this.#filters.belongsToPool(this.asked, record);
    return this.#filters.placesOf(record.node).includes(this.#filters.placeOf(this.asked));
  }

  /** The least that a task uses. */
  leastOf(request: Request): readonly number[] {
    return this.amountsOf(this.#filters.leastFree(request));
  }

  amountsOf(resources: Resources): readonly number[] {
    return this.#dimensions.map((name) => resources[name] ?? 0);
  }

  /** Adds the node, or moves it to the level of its free cpu. */
  put(record: NodeRecord): void {
    this.nodes.put(record);
    this.freed.shrunk(record, false);
    if (this.#isOfShares) {
      if ((record.free[SHARE_RESOURCE] ?? 0) > 0) this.freeEdges.put(record);
      else this.freeEdges.delete(record);
    }
    if (this.#byCluster !== undefined) this.#putInCluster(this.#byCluster, record);
  }

  remove(record: NodeRecord): void {
    this.nodes.remove(record);
    this.freeEdges.delete(record);
    this.freed.shrunk(record, true);
    const nodes = this.#clusterNodesOf.get(record); // its row may name another cluster by now
    if (nodes === undefined) return;
    this.#clusterNodesOf.delete(record);
    nodes.levels.remove(record);
    nodes.best = undefined;
  }

  /** Its nodes by their clusters. */
  byCluster(): ReadonlyMap<ClusterId, ClusterNodes> {
    if (this.#byCluster !== undefined) return this.#byCluster;
    this.#byCluster = new Map();
    for (const record of this.nodes.all()) this.#putInCluster(this.#byCluster, record);
    return this.#byCluster;
  }

  /**
   * The best node with free capacity of each cluster. A placement changes one cluster, so only that one
   * is searched again, unless classes share the pool. Only for graph requests: all classes of such a
   * pool request the same.
   */
  *bestOfClusters(
    search: (levels: NodeLevels) => NodeRecord | undefined,
  ): Iterable<readonly [ClusterId, NodeRecord | undefined]> {
    for (const [cluster, nodes] of this.byCluster()) {
      if (this.isShared) yield [cluster, search(nodes.levels)];
      else yield [cluster, (nodes.best ??= { record: search(nodes.levels) }).record];
    }
  }

  #putInCluster(byCluster: Map<ClusterId, ClusterNodes>, record: NodeRecord): void {
    const { cluster } = record.node;
    let nodes = byCluster.get(cluster);
    if (nodes === undefined) {
      nodes = { levels: new NodeLevels(this.#filters, this.#work, this.isShared), best: undefined };
      byCluster.set(cluster, nodes);
    }
    nodes.levels.put(record);
    nodes.best = undefined;
    this.#clusterNodesOf.set(record, nodes);
  }

  narrow(request: RequestClass, candidates: Set<NodeRecord>): void {
    if (request.candidates === undefined) this.narrowed.insert(request);
    request.candidates = candidates;
  }

  widen(request: RequestClass): void {
    if (request.candidates === undefined) return;
    this.narrowed.remove(request);
    if (this.freed.stamp === request.triedAt) this.#tried--;
    request.triedAt = -1;
    request.candidates = undefined;
  }

  /** The node got free capacity; returns whether a narrowed class may use it. */
  gained(record: NodeRecord): boolean {
    if (this.narrowed.size === 0) return false;
    this.freed.add(record);
    this.#tried = 0;
    return true;
  }

  /** None of the freed nodes can take a task of this narrowed class. */
  triedWithoutFit(request: RequestClass): void {
    this.freed.tighten();
    if (request.triedAt === this.freed.stamp) return;
    request.triedAt = this.freed.stamp;
    this.#tried++;
  }

  /**
   * Whether a task of this narrowed class may fit on a freed node. Graph requests cannot be compared by
   * amounts: they are tried here, so that the search for a lane skips a misfit once.
   */
  mayFit(request: RequestClass): boolean {
    if (request.triedAt === this.freed.stamp) return false;
    if (request.request === undefined || this.freed.size > TRIED_NODES_MAX) return true;
    if (request.clustersMayHelp || (request.candidates?.size ?? 1) > 0) return true;
    for (const record of this.freed.nodes) if (this.nodes.fits(request, record)) return true;
    this.triedWithoutFit(request);
    return false;
  }

  /** Whether a freed node may still take a task of a class. */
  get mayHelp(): boolean {
    return this.freed.size > 0 && this.#tried < this.narrowed.size;
  }
}
