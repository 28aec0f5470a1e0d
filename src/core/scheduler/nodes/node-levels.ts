import type { Resources } from "../../model/resources.ts";
import type { NodeRecord } from "./node-record.ts";
import { Best } from "../choice.ts";
import type { FilterChain } from "../filters/chain.ts";
import { NodeOrder } from "./node-order.ts";
import type { PlannerWork } from "../planner-work.ts";
import type { Request } from "../request.ts";
import type { Scorer } from "../scorers/scorer.ts";

const LEVELS = 54;

/** Nodes and requests are kept by the power of two of their cpu, so that most misfits are skipped. */
const levelOf = (amounts: Resources): number => {
  const cpu = amounts["cpu"] ?? 0;
  return cpu <= 0 ? 0 : Math.min(LEVELS - 1, 1 + Math.floor(Math.log2(cpu)));
};

const NOBODY: ReadonlySet<NodeRecord> = new Set();

/** Nodes by how much cpu they have free. */
export class NodeLevels {
  readonly #filters: FilterChain;
  readonly #work: PlannerWork;
  readonly #allows: (request: Request, record: NodeRecord) => boolean;
  /** Made when a node first comes to the level: there are many small pools. */
  readonly #nodes: (Set<NodeRecord> | undefined)[] = [];
  readonly #levels = new Map<NodeRecord, number>();
  /** Made for the policy that asks for one. */
  readonly #orders: NodeOrder[] = [];

  /** `isMixed`: it also holds nodes that could never take a task of a request. */
  constructor(filters: FilterChain, work: PlannerWork, isMixed: boolean) {
    this.#filters = filters;
    this.#work = work;
    this.#allows = isMixed ? filters.allowsReady : filters.allowsInPool;
  }

  get size(): number {
    return this.#levels.size;
  }

  /** Adds the node, or moves it to where its free cpu belongs. */
  put(record: NodeRecord): void {
    const level = levelOf(record.free);
    for (const order of this.#orders) order.put(record, level);
    const before = this.#levels.get(record);
    if (before === level) return;
    if (before !== undefined) this.#nodes[before]?.delete(record);
    (this.#nodes[level] ??= new Set()).add(record);
    this.#levels.set(record, level);
  }

  /** Returns whether it was there. */
  remove(record: NodeRecord): boolean {
    const level = this.#levels.get(record);
    if (level === undefined) return false;
    this.#nodes[level]?.delete(record);
    this.#levels.delete(record);
    for (const order of this.#orders) order.remove(record);
    return true;
  }

  has(record: NodeRecord): boolean {
    return this.#levels.has(record);
  }

  /** Whether the node can take a task now; counted as a look at it. */
  fits(request: Request, record: NodeRecord): boolean {
    this.#work.nodesLookedAt++;
    return this.#allows(request, record);
  }

  /** Below it no node can take a task now. */
  lowestFor(request: Request): number {
    return levelOf(this.#filters.leastFree(request));
  }

  all(): Iterable<NodeRecord> {
    return this.#levels.keys();
  }

  /**
   * The best of at most `candidatesMax` nodes with room, by score and then by name. `order`
   * says where to look first: at nodes with much free cpu, or at those with just enough.
   */
  best(request: Request, scorer: Scorer, candidatesMax: number): NodeRecord | undefined {
    const lowest = this.lowestFor(request);
    const upward = scorer.order === "least-free-first";
    const best = new Best(request, (record) => scorer.score(request, record));
    for (let step = 0; lowest + step < LEVELS; step++) {
      const level = upward ? lowest + step : LEVELS - 1 - step;
      for (const record of this.#nodes[level] ?? NOBODY) {
        if (!this.fits(request, record)) continue;
        best.offer(record);
        if (best.offered >= candidatesMax) return best.record;
      }
    }
    return best.record;
  }

  orderBy(by: NodeOrder["by"]): NodeOrder {
    const known = this.#orders.find((order) => order.by === by);
    if (known !== undefined) return known;
    const made = new NodeOrder(
      by,
      Array.from({ length: LEVELS }, (_, level) => this.#nodes[level] ?? NOBODY),
    );
    this.#orders.push(made);
    return made;
  }

  /** All nodes with room, or undefined when there are more than `max`. */
  allFitting(request: Request, max: number): Set<NodeRecord> | undefined {
    const found = new Set<NodeRecord>();
    for (let level = this.lowestFor(request); level < LEVELS; level++) {
      for (const record of this.#nodes[level] ?? NOBODY) {
        if (!this.fits(request, record)) continue;
        found.add(record);
        if (found.size > max) return undefined;
      }
    }
    return found;
  }
}
