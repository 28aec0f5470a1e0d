import type { NodeId } from "../model/ids.ts";
import { isSchedulable } from "../model/node.ts";
import type { Resources } from "../model/resources.ts";
import { addInto, subtractFrom } from "../model/resources.ts";
import type { NodeRecord } from "../state/node-record.ts";
import type { PlannerWork } from "./pool.ts";
import { Pool } from "./pool.ts";
import type { Request, RequestClass } from "./request.ts";
import { poolKey } from "./request.ts";

/** The nodes as the planner sees them: in pools by what jobs ask of them. Follows State.apply. */
export class Fleet {
  readonly #pools = new Map<string, Pool>();
  readonly #poolsByNode = new Map<NodeRecord, readonly Pool[]>();
  readonly #nodes: ReadonlyMap<NodeId, NodeRecord>;
  /** Nodes that got room since the planner last looked. */
  readonly #improved = new Set<NodeRecord>();
  readonly #capacity: Record<string, number> = {};
  /** How often a node was given a task, since the server started. */
  turn = 0;
  readonly work: PlannerWork = { nodesLookedAt: 0, classesAsked: 0 };

  constructor(nodes: ReadonlyMap<NodeId, NodeRecord>) {
    this.#nodes = nodes;
  }

  /** What all nodes that take tasks have together. */
  get capacity(): Resources {
    return this.#capacity;
  }

  /** The node's row changed: it may take tasks or no longer, be larger, have other labels. */
  nodeChanged(record: NodeRecord, before: Resources | undefined): void {
    this.nodeRemoved(record, before);
    if (!isSchedulable(record.node)) return;
    addInto(this.#capacity, record.node.capacity);
    const pools = [...this.#pools.values()].filter((pool) => pool.allows(record));
    this.#poolsByNode.set(record, pools);
    for (const pool of pools) pool.put(record);
    this.#improved.add(record);
  }

  /** `before`: the capacity it was counted with. */
  nodeRemoved(record: NodeRecord, before: Resources | undefined): void {
    const pools = this.#poolsByNode.get(record);
    if (pools === undefined) return;
    if (before !== undefined) subtractFrom(this.#capacity, before);
    for (const pool of pools) pool.remove(record);
    this.#poolsByNode.delete(record);
    this.#improved.delete(record);
  }

  /** A task was bound to the node. */
  given(record: NodeRecord): void {
    record.lastTurn = ++this.turn;
    this.usageChanged(record, false);
  }

  /** What is free on the node changed. */
  usageChanged(record: NodeRecord, gotRoom: boolean): void {
    const pools = this.#poolsByNode.get(record);
    if (pools === undefined) return;
    for (const pool of pools) pool.put(record);
    if (gotRoom) this.#improved.add(record);
  }

  get hasImproved(): boolean {
    return this.#improved.size > 0;
  }

  /** Offers nodes that got room to the classes that wait. Bounded; the rest stays for later. */
  offerImproved(checksMax: number, woken: (request: RequestClass) => void): void {
    let checks = 0;
    for (const record of this.#improved) {
      if (checks >= checksMax) return;
      this.#improved.delete(record);
      for (const pool of this.#poolsByNode.get(record) ?? []) checks += pool.offer(record, woken);
    }
  }

  poolFor(request: Request): Pool {
    const key = poolKey(request);
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = new Pool(key, request, this.work);
      this.#pools.set(key, pool);
      this.#fill(pool);
    }
    pool.classes++;
    return pool;
  }

  #fill(pool: Pool): void {
    for (const record of this.#nodes.values()) {
      const pools = this.#poolsByNode.get(record);
      if (pools === undefined || !pool.allows(record)) continue;
      pool.put(record);
      this.#poolsByNode.set(record, [...pools, pool]);
    }
  }

  /** A class of the pool is gone; the last one takes the pool with it. */
  leavePool(pool: Pool): void {
    pool.classes--;
    if (pool.classes > 0) return;
    this.#pools.delete(pool.key);
    for (const [record, pools] of this.#poolsByNode) {
      if (pool.has(record))
        this.#poolsByNode.set(
          record,
          pools.filter((other) => other !== pool),
        );
    }
  }
}
