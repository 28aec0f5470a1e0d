import type { NodeRecord } from "../state/node-record.ts";
import type { PlannerWork } from "./planner-work.ts";

/** With more nodes than this, what they have free is added up only when a search was in vain. */
const EXACT_MAX = 32;

const NOTHING: readonly number[] = [];

/**
 * The nodes of a pool that got free capacity since the planner last found nothing more to place.
 * Narrowed classes look at these nodes and at no others.
 */
export class FreedNodes {
  /** Replaced, not cleared: a set that lives long gets its next table among the old objects. */
  #nodes = new Set<NodeRecord>();
  /** Another number whenever one of the nodes got more. */
  stamp = 0;
  readonly #amountsOf: (record: NodeRecord) => readonly number[];
  readonly #work: PlannerWork;
  /** The most that one of them has free, by dimension; or more, when tasks were placed since. */
  #most: readonly number[] = NOTHING;
  #isStale = false;

  constructor(amountsOf: (record: NodeRecord) => readonly number[], work: PlannerWork) {
    this.#amountsOf = amountsOf;
    this.#work = work;
  }

  get nodes(): ReadonlySet<NodeRecord> {
    return this.#nodes;
  }

  add(record: NodeRecord): void {
    this.#nodes.add(record);
    this.stamp++;
    this.#include(record);
  }

  /** Less is free on the node than before, or it left the pool. */
  shrunk(record: NodeRecord, isGone: boolean): void {
    if (this.#nodes.size === 0 || !this.#nodes.has(record)) return;
    if (isGone) this.#nodes.delete(record);
    this.#isStale = true;
  }

  /** No node has more than this free. */
  get most(): readonly number[] {
    if (this.#isStale && this.#nodes.size <= EXACT_MAX) this.tighten();
    return this.#most;
  }

  /** Brings `most` up to date. */
  tighten(): void {
    if (!this.#isStale) return;
    this.#isStale = false;
    this.#most = NOTHING;
    for (const record of this.#nodes) {
      this.#work.nodesLookedAt++;
      this.#include(record);
    }
  }

  clear(): void {
    if (this.#nodes.size > 0) this.#nodes = new Set();
    this.#most = NOTHING;
    this.#isStale = false;
  }

  #include(record: NodeRecord): void {
    const amounts = this.#amountsOf(record);
    const most = this.#most;
    this.#most =
      most === NOTHING ? amounts : amounts.map((amount, dim) => Math.max(amount, most[dim] ?? 0));
  }
}
