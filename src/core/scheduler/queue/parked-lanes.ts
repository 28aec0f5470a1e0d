import { Heap } from "../../../lib/collections/heap.ts";
import { SmallSet } from "../../../lib/collections/small-set.ts";
import { goesBefore, type GroupOrder, type Standing } from "./group-order.ts";
import { type Lane, type LaneEntry, laneGoesFirst } from "./lane.ts";
import type { Pool } from "../nodes/pool.ts";
import type { RequestClass } from "../request.ts";

/** The first parked lane of a pool that may fit on a freed node, at the time of the search. */
interface First {
  readonly pool: Pool;
  readonly entry: LaneEntry;
  readonly standing: Standing;
}

/** Two of one group may be from before and after it was served: then it moved back. */
const goesFirst = (a: First, b: First): boolean =>
  a.standing === b.standing ? laneGoesFirst(a.entry, b.entry) : goesBefore(a.standing, b.standing);

/**
 * The pools with freed nodes, by their first parked lane. Placing tasks only moves groups back, so
 * only the first lane of the pool on top is searched again before it is used; when a group may have
 * moved forward, all are.
 */
export class ParkedLanes {
  readonly #order: GroupOrder;
  /** Whether the lane is where it belongs; otherwise this call moves it. */
  readonly #isCurrent: (lane: Lane) => boolean;
  readonly #pools = new SmallSet<Pool>();
  #heap = new Heap(goesFirst);
  #lowered = -1;

  constructor(order: GroupOrder, isCurrent: (lane: Lane) => boolean) {
    this.#order = order;
    this.#isCurrent = isCurrent;
  }

  get mayPlace(): boolean {
    return this.#pools.size > 0;
  }

  get pools(): Iterable<Pool> {
    return this.#pools.items;
  }

  freed(pool: Pool): void {
    this.#pools.add(pool);
    this.#lowered = -1;
  }

  clear(): void {
    this.#pools.clear();
    if (this.#heap.size > 0) this.#heap = new Heap(goesFirst);
    this.#lowered = -1;
  }

  /** The first lane of all. */
  first(): Lane | undefined {
    const one = this.#pools.first;
    if (one === undefined) return undefined;
    if (this.#pools.size === 1) return this.#firstEntryOf(one)?.lane;
    let isNew = this.#lowered !== this.#order.lowered;
    if (isNew) this.#lookAtAll();
    for (;;) {
      const top = this.#heap.peek();
      if (top === undefined || isNew) return top?.entry.lane;
      const now = this.#firstOf(top.pool);
      if (now?.entry === top.entry && now.standing === top.standing) return now.entry.lane;
      this.#heap.pop();
      if (now === undefined) continue;
      this.#heap.push(now);
      isNew = this.#heap.peek() === now;
    }
  }

  #lookAtAll(): void {
    this.#lowered = this.#order.lowered;
    this.#heap = new Heap(goesFirst);
    for (const pool of this.#pools.items) {
      const first = this.#firstOf(pool);
      if (first !== undefined) this.#heap.push(first);
    }
  }

  #firstOf(pool: Pool): First | undefined {
    const entry = this.#firstEntryOf(pool);
    const standing = entry?.lane.group.standing;
    return entry === undefined || standing === undefined ? undefined : { pool, entry, standing };
  }

  /** The first lane of the pool that requests at most `within` and may fit. */
  firstWithin(
    pool: Pool,
    within: readonly number[],
    mayFit: (request: RequestClass) => boolean,
  ): LaneEntry | undefined {
    for (;;) {
      const entry = pool.waiting.first(this.#order, within, { mayFit, mayHelp: true });
      if (entry === undefined || this.#isCurrent(entry.lane)) return entry;
    }
  }

  #firstEntryOf(pool: Pool): LaneEntry | undefined {
    for (;;) {
      if (!pool.mayHelp) return undefined;
      const entry = pool.waiting.first(this.#order, pool.freed.most, pool);
      if (entry === undefined || this.#isCurrent(entry.lane)) return entry;
    }
  }
}
