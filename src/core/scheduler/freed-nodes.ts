import type { NodeRecord } from "../state/node-record.ts";
import type { PlannerWork } from "./planner-work.ts";

/** With more nodes than this, what they have free is added up only when a search was in vain. */
const EXACT_MAX = 32;

/**
 * The nodes of a pool that got free capacity since the planner last found nothing more to place.
 * Narrowed classes look at these nodes and at no others.
 */
export class FreedNodes {
  readonly nodes = new Set<NodeRecord>();
  /** Another number whenever one of the nodes got more. */
  stamp = 0;
  readonly #amountsOf: (record: NodeRecord) => readonly number[];
  readonly #work: PlannerWork;
  /** The most that one of them has free, by dimension; or more, when tasks were placed since. */
  #most: number[] = [];
  #isStale = false;

  constructor(amountsOf: (record: NodeRecord) => readonly number[], work: PlannerWork) {
    this.#amountsOf = amountsOf;
    this.#work = work;
  }

  add(record: NodeRecord): void {
    this.nodes.add(record);
    this.stamp++;
    this.#include(record);
  }

  /** Less is free on the node than before, or it left the pool. */
  shrunk(record: NodeRecord, isGone: boolean): void {
    if (this.nodes.size === 0 || !this.nodes.has(record)) return;
    if (isGone) this.nodes.delete(record);
    this.#isStale = true;
  }

  /** No node has more than this free. */
  get most(): readonly number[] {
    if (this.#isStale && this.nodes.size <= EXACT_MAX) this.tighten();
    return this.#most;
  }

  /** Brings `most` up to date. */
  tighten(): void {
    if (!this.#isStale) return;
    this.#isStale = false;
    this.#most = [];
    for (const record of this.nodes) {
      this.#work.nodesLookedAt++;
      this.#include(record);
    }
  }

  clear(): void {
    this.nodes.clear();
    this.#most = [];
    this.#isStale = false;
  }

  #include(record: NodeRecord): void {
    const amounts = this.#amountsOf(record);
    for (let dim = 0; dim < amounts.length; dim++) {
      this.#most[dim] = Math.max(this.#most[dim] ?? 0, amounts[dim] ?? 0);
    }
  }
}
