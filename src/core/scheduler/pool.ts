import type { Resources } from "../model/resources.ts";
import type { NodeRecord } from "../state/node-record.ts";
import type { Request, RequestClass } from "./request.ts";
import { rareNames } from "./request.ts";
import { graphMatches } from "./filters/graph-matches.ts";
import { Best } from "./choice.ts";
import { NodeOrder } from "./node-order.ts";
import type { Scorer } from "./scorers/scorer.ts";
import { takesNow } from "./takes.ts";
import { whereMatches } from "./filters/where-matches.ts";

/** How much the planner has looked at, for tests and metrics: it must not grow with the fleet. */
export interface PlannerWork {
  nodesLookedAt: number;
  classesAsked: number;
}

const LEVELS = 54;

/** Nodes and requests are kept by the power of two of their cpu, so that most misfits are skipped. */
const levelOf = (amounts: Resources): number => {
  const cpu = amounts["cpu"] ?? 0;
  return cpu <= 0 ? 0 : Math.min(LEVELS - 1, 1 + Math.floor(Math.log2(cpu)));
};

/** Below it no node can have room. What is asked of graphs may take less of one node than of another. */
export const lowestFor = ({ needs, request }: Request): number =>
  request === undefined ? levelOf(needs) : 0;

/**
 * The nodes that one `where` allows, that have what is rare (a gpu, a licence) or asked of their
 * graph, and that take tasks now, by how much cpu they have free; and the request classes that wait for one of them.
 */
export class Pool {
  readonly key: string;
  readonly #asked: Request;
  classes = 0;
  readonly #nodes: Set<NodeRecord>[] = [];
  readonly #levels = new Map<NodeRecord, number>();
  /** Made for the policy that asks for one. */
  readonly #orders: NodeOrder[] = [];
  /** Classes with `candidates`: they must hear of every node that gets room. */
  readonly #narrowed: Set<RequestClass>[] = [];

  readonly #rare: readonly string[];
  readonly #work: PlannerWork;

  constructor(key: string, request: Request, work: PlannerWork) {
    this.key = key;
    this.#asked = request;
    this.#rare = request.request === undefined ? rareNames(request.needs) : [];
    this.#work = work;
    for (let level = 0; level < LEVELS; level++) {
      this.#nodes.push(new Set());
      this.#narrowed.push(new Set());
    }
  }

  allows(record: NodeRecord): boolean {
    const { capacity } = record.node;
    if (!this.#rare.every((name) => (capacity[name] ?? 0) > 0)) return false;
    if (whereMatches.check(this.#asked, record).kind !== "yes") return false;
    return graphMatches.check(this.#asked, record).kind === "yes";
  }

  /** Adds the node, or moves it to where its free cpu belongs. */
  put(record: NodeRecord): void {
    const level = levelOf(record.free);
    for (const order of this.#orders) order.put(record, level);
    const before = this.#levels.get(record);
    if (before === level) return;
    if (before !== undefined) this.#nodes[before]?.delete(record);
    this.#nodes[level]?.add(record);
    this.#levels.set(record, level);
  }

  remove(record: NodeRecord): void {
    const level = this.#levels.get(record);
    if (level === undefined) return;
    this.#nodes[level]?.delete(record);
    this.#levels.delete(record);
    for (const order of this.#orders) order.remove(record);
  }

  has(record: NodeRecord): boolean {
    return this.#levels.has(record);
  }

  /** Whether the node has room; counted as a look at it. */
  fits(request: Request, record: NodeRecord): boolean {
    this.#work.nodesLookedAt++;
    return takesNow(request, record) !== undefined;
  }

  *nodes(): Iterable<NodeRecord> {
    for (const level of this.#nodes) yield* level;
  }

  /**
   * The best of at most `candidatesMax` nodes with room, by score and then by name. `order`
   * says where to look first: at nodes with much free cpu, or at those with just enough.
   */
  best(request: Request, scorer: Scorer, candidatesMax: number): NodeRecord | undefined {
    const lowest = lowestFor(request);
    const upward = scorer.order === "least-free-first";
    const best = new Best(request, (record) => scorer.score(request, record));
    for (let step = 0; lowest + step < LEVELS; step++) {
      const level = upward ? lowest + step : LEVELS - 1 - step;
      for (const record of this.#nodes[level] ?? []) {
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
    const made = new NodeOrder(by, this.#nodes);
    this.#orders.push(made);
    return made;
  }

  /** All nodes with room, or undefined when there are more than `max`. */
  allFitting(request: Request, max: number): Set<NodeRecord> | undefined {
    const found = new Set<NodeRecord>();
    for (let level = lowestFor(request); level < LEVELS; level++) {
      for (const record of this.#nodes[level] ?? []) {
        if (!this.fits(request, record)) continue;
        found.add(record);
        if (found.size > max) return undefined;
      }
    }
    return found;
  }

  narrow(request: RequestClass): void {
    this.#narrowed[lowestFor(request)]?.add(request);
  }

  widen(request: RequestClass): void {
    this.#narrowed[lowestFor(request)]?.delete(request);
  }

  /** Tells narrowed classes of a node that may have room for them; returns how many it asked. */
  offer(record: NodeRecord, woken: (request: RequestClass) => void): number {
    let asked = 0;
    const highest = levelOf(record.free);
    for (let level = 0; level <= highest; level++) {
      for (const request of this.#narrowed[level] ?? []) {
        asked++;
        this.#work.classesAsked++;
        if (takesNow(request, record) === undefined) continue;
        request.candidates?.add(record);
        woken(request);
      }
    }
    return asked;
  }
}
