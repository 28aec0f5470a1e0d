import { SmallSet } from "../../../lib/collections/small-set.ts";
import type { Resources } from "../../model/resources.ts";
import type { NodeRecord } from "./node-record.ts";
import type { PlannerWork } from "../planner-work.ts";

/** With more nodes than this, their free capacity is recomputed only after a search that failed. */
const EXACT_MAX = 32;

/**
 * The nodes of a pool that got free capacity since the planner last found nothing more to place.
 * Narrowed classes look at these nodes and at no others.
 */
export class FreedNodes {
  readonly #nodes = new SmallSet<NodeRecord>();
  /** Grows whenever one of the nodes gets more. */
  stamp = 0;
  readonly #dimensions: readonly string[];
  readonly #work: PlannerWork;
  /** The most that one of them has free, by dimension; an upper bound when tasks were placed since. */
  readonly #most: number[];
  #isStale = false;

  constructor(dimensions: readonly string[], work: PlannerWork) {
    this.#dimensions = dimensions;
    this.#work = work;
    this.#most = dimensions.map(() => 0);
  }

  get size(): number {
    return this.#nodes.size;
  }

  get nodes(): Iterable<NodeRecord> {
    return this.#nodes.items;
  }

  has(record: NodeRecord): boolean {
    return this.#nodes.has(record);
  }

  add(record: NodeRecord): void {
    this.#nodes.add(record);
    this.stamp++;
    this.#include(record.free);
  }

  /** The node has less free capacity, or left the pool. */
  shrunk(record: NodeRecord, isGone: boolean): void {
    if (this.#nodes.size === 0 || !this.#nodes.has(record)) return;
    if (isGone) this.#nodes.delete(record);
    this.#isStale = true;
  }

  /** An upper bound of each node's free capacity. Valid until the next change. */
  get most(): readonly number[] {
    if (this.#isStale && this.#nodes.size <= EXACT_MAX) this.tighten();
    return this.#most;
  }

  /** Recomputes `most` exactly. */
  tighten(): void {
    if (!this.#isStale) return;
    this.#isStale = false;
    this.#most.fill(0);
    for (const record of this.#nodes.items) {
      this.#work.nodesLookedAt++;
      this.#include(record.free);
    }
  }

  clear(): void {
    this.#nodes.clear();
    this.#most.fill(0);
    this.#isStale = false;
  }

  #include(free: Resources): void {
    const most = this.#most;
    for (let dim = 0; dim < most.length; dim++) {
      const amount = free[this.#dimensions[dim] ?? ""] ?? 0;
      if (amount > (most[dim] ?? 0)) most[dim] = amount;
    }
  }
}
