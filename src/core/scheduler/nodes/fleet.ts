import { MultiMap } from "../../../lib/collections/multi-map.ts";
import { SmallSet } from "../../../lib/collections/small-set.ts";
import { limits } from "../../../limits.ts";
import type { ClusterId } from "../../model/ids.ts";
import type { Resources } from "../../model/resources.ts";
import { addInto, subtractFrom } from "../../model/resources.ts";
import type { NodeRecord } from "./node-record.ts";
import { type QuarantineTerms, Suspicions } from "./suspicions.ts";
import { type FilterChain, FILTERS } from "../filters/chain.ts";
import { clusterKey } from "../filters/in-cluster.ts";
import { FetchedAhead } from "../fetched-ahead.ts";
import { noWork, type PlannerWork } from "../planner-work.ts";
import { Pool } from "./pool.ts";
import type { Request } from "../request.ts";

/**
 * Pools without classes are retained, because jobs often come one by one and filling a pool takes time for each of its nodes. Of small
 * pools only the newest is retained: each costs time on every change of its nodes, and is quickly made again.
 * Pools without nodes cost none: those of pull clusters, for example, which are retained until they get a node.
 */
const IDLE_POOLS_MAX = 8;
const LARGE_POOL_NODES_MIN = 64;

const isSmall = ({ nodes }: Pool): boolean => nodes.size < LARGE_POOL_NODES_MIN;

/** The nodes as the planner sees them: in pools by requests. Follows State.apply. */
export class Fleet {
  readonly filters: FilterChain;
  readonly #pools = new Map<string, Pool>();
  readonly #poolsByKey = new MultiMap<string, Pool>();
  /** Retained pools without classes, the longest unused first. */
  readonly #idlePools = new Set<Pool>();
  /** The same, of those without nodes. */
  readonly #emptyPools = new Set<Pool>();
  /** Of nodes that are ready for tasks. */
  readonly #poolsByNode = new Map<NodeRecord, Set<Pool>>();
  /** All nodes, and the keys that each is filed under. */
  readonly #nodesByKey = new MultiMap<string, NodeRecord>();
  readonly #keysByNode = new Map<NodeRecord, readonly string[]>();
  /** Nodes with new free capacity since the planner last looked. */
  readonly #improved = new SmallSet<NodeRecord>();
  readonly #capacity: Record<string, number> = {};
  /** Pools of requests that differ, for one place: the same node, label, rare resource or cluster. */
  poolsPerPlaceMax: number = limits.poolsPerPlaceMax;
  /** Grows whenever the capacity may have changed. */
  capacityVersion = 0;
  /** How often a task was assigned to a node, since the server started. */
  turn = 0;
  readonly work: PlannerWork = noWork();
  readonly suspicions: Suspicions;
  readonly ahead = new FetchedAhead();

  constructor(filters = FILTERS, quarantine?: QuarantineTerms) {
    this.filters = filters;
    this.suspicions = new Suspicions(quarantine);
  }

  /** The total capacity of all ready nodes. */
  get capacity(): Resources {
    return this.#capacity;
  }

  get poolCount(): number {
    return this.#pools.size;
  }

  get pools(): Iterable<Pool> {
    return this.#pools.values();
  }

  /** All nodes of the cluster, also those that are not ready. */
  inCluster(cluster: ClusterId): ReadonlySet<NodeRecord> {
    return this.#nodesByKey.get(clusterKey(cluster));
  }

  /** The node's row changed: it may be ready or not any more, be larger, have other labels. */
  nodeChanged(record: NodeRecord, before: Resources | undefined): void {
    this.nodeRemoved(record, before);
    this.suspicions.nodeChanged(record);
    this.ahead.nodeChanged(record);
    const keys = this.filters.placesOf(record.node);
    this.#keysByNode.set(record, keys);
    for (const key of keys) this.#nodesByKey.add(key, record);
    if (!this.filters.isReady(record)) return;
    addInto(this.#capacity, record.node.capacity);
    this.capacityVersion++;
    const pools = new Set<Pool>();
    this.#poolsByNode.set(record, pools);
    for (const key of keys) {
      for (const pool of this.#poolsByKey.get(key)) {
        this.work.poolsAsked++;
        if (!pool.allows(record)) continue;
        if (this.#emptyPools.has(pool)) {
          this.#dropPool(pool);
          continue;
        }
        pools.add(pool);
        pool.put(record);
      }
    }
    this.#improved.add(record);
  }

  /** `before`: the capacity that it was counted with. */
  nodeRemoved(record: NodeRecord, before: Resources | undefined): void {
    for (const key of this.#keysByNode.get(record) ?? []) this.#nodesByKey.delete(key, record);
    this.#keysByNode.delete(record);
    this.ahead.nodeRemoved(record);
    const pools = this.#poolsByNode.get(record);
    if (pools === undefined) return;
    if (before !== undefined) subtractFrom(this.#capacity, before);
    this.capacityVersion++;
    for (const pool of pools) pool.remove(record);
    this.#poolsByNode.delete(record);
    this.#improved.delete(record);
  }

  /** A task was assigned to the node. */
  assigned(record: NodeRecord): void {
    record.lastTurn = ++this.turn;
    this.usageChanged(record, false);
  }

  /** The free capacity of the node changed. */
  usageChanged(record: NodeRecord, gainedCapacity: boolean): void {
    const pools = this.#poolsByNode.get(record);
    if (pools === undefined) return;
    for (const pool of pools) pool.put(record);
    if (gainedCapacity) this.#improved.add(record);
  }

  /** The pools that contain the node, while it is ready. */
  poolsOf(record: NodeRecord): Iterable<Pool> {
    return this.#poolsByNode.get(record) ?? [];
  }

  get hasImproved(): boolean {
    return this.#improved.size > 0;
  }

  /** Whether the node has new free capacity since the planner last looked. */
  isImproved(record: NodeRecord): boolean {
    return this.#improved.has(record);
  }

  /** Lists nodes with new free capacity in the pools where classes wait. Bounded; the rest stays for later. */
  offerImproved(checksMax: number, freed: (pool: Pool) => void): void {
    let checks = 0;
    let offered = 0;
    for (const record of this.#improved.items) {
      if (checks >= checksMax) break;
      offered++;
      const pools = this.#poolsByNode.get(record);
      if (pools === undefined) continue;
      for (const pool of pools) {
        checks++;
        if (pool.gained(record)) freed(pool);
      }
    }
    this.#improved.deleteFirst(offered);
  }

  poolFor(request: Request): Pool {
    const key = this.filters.poolKey(request);
    const pool = this.#pools.get(key) ?? this.#newPool(request, key);
    if (pool.classes === 0 && !this.#emptyPools.delete(pool)) this.#idlePools.delete(pool);
    pool.classes++;
    return pool;
  }

  /**
   * A pool of its own for the request, while its place has few. Each pool takes memory and time for
   * every node of the place; further requests share one pool with all nodes of the place, and filter
   * the nodes that they try.
   */
  #newPool(request: Request, ownKey: string): Pool {
    const place = this.filters.placeOf(request);
    const shared = `all of ${place}`;
    const known = this.#pools.get(shared);
    const others = this.#poolsByKey.get(place).size - (known === undefined ? 0 : 1);
    const mayAddPool = others < this.poolsPerPlaceMax || this.#dropIdle(place);
    if (!mayAddPool && known !== undefined) return known;
    const key = mayAddPool ? ownKey : shared;
    const pool = new Pool({ key, request, isShared: !mayAddPool }, this);
    this.#pools.set(pool.key, pool);
    this.#poolsByKey.add(place, pool);
    this.#fill(pool);
    return pool;
  }

  /** Drops a pool of the place that no class uses. */
  #dropIdle(place: string): boolean {
    for (const pool of this.#idlePools) {
      if (pool.isShared || this.filters.placeOf(pool.asked) !== place) continue;
      this.#dropPool(pool);
      return true;
    }
    for (const pool of this.#poolsByKey.get(place)) {
      if (pool.isShared || !this.#emptyPools.has(pool)) continue;
      this.#dropPool(pool);
      return true;
    }
    return false;
  }

  #fill(pool: Pool): void {
    for (const record of this.#nodesByKey.get(this.filters.placeOf(pool.asked))) {
      this.work.nodesLookedAt++;
      const pools = this.#poolsByNode.get(record);
      if (pools === undefined || !pool.allows(record)) continue;
      pool.put(record);
      pools.add(pool);
    }
  }

  /** The pool lost a class. With the last one the pool is retained, and may replace another. */
  leavePool(pool: Pool): void {
    pool.classes--;
    if (pool.classes > 0) return;
    if (pool.nodes.size === 0) {
      this.#emptyPools.add(pool);
      const [first] = this.#emptyPools;
      if (this.#emptyPools.size > limits.emptyPoolsMax && first !== undefined)
        this.#dropPool(first);
      return;
    }
    if (isSmall(pool)) {
      for (const idle of this.#idlePools) if (isSmall(idle)) this.#dropPool(idle);
    }
    this.#idlePools.add(pool);
    const [oldest] = this.#idlePools;
    if (this.#idlePools.size > IDLE_POOLS_MAX && oldest !== undefined) this.#dropPool(oldest);
  }

  #dropPool(pool: Pool): void {
    this.#idlePools.delete(pool);
    this.#emptyPools.delete(pool);
    this.#pools.delete(pool.key);
    this.#poolsByKey.delete(this.filters.placeOf(pool.asked), pool);
    for (const record of pool.nodes.all()) this.#poolsByNode.get(record)?.delete(pool);
  }
}
