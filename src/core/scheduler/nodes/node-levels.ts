import type { Resources } from "../../model/resources.ts";
import type { NodeRecord } from "./node-record.ts";
import { Best } from "../choice.ts";
import type { FilterChain } from "../filters/chain.ts";
import { FillSteps, type StepPlace, stepOf } from "./fill-steps.ts";
import { NodeOrder } from "./node-order.ts";
import type { PlannerWork } from "../planner-work.ts";
import type { Request } from "../request.ts";
import type { Scorer } from "../scorers/scorer.ts";

const LEVELS = 54;

/**
 * Nodes and requests are sorted into levels by the power of two of their cpu, so that a search skips
 * most nodes that do not fit.
 */
const levelOf = (amounts: Resources): number => {
  const cpu = amounts["cpu"] ?? 0;
  return cpu <= 0 ? 0 : Math.min(LEVELS - 1, 1 + Math.floor(Math.log2(cpu)));
};

const NOBODY: readonly NodeRecord[] = [];

/** A search for the emptiest node looks at some nodes of each level: at least so many that fit, and so many that do not. */
const CANDIDATES_PER_LEVEL_MIN = 2;
const MISFITS_PER_LEVEL_MAX = 16;

/** The position of a node, and the turn at which it got there. */
interface Standing extends StepPlace {
  level: number;
  turn: number;
}

/** Nodes by free cpu, and within a level by how full they are. */
export class NodeLevels {
  readonly #filters: FilterChain;
  readonly #work: PlannerWork;
  readonly #allows: (request: Request, record: NodeRecord) => boolean;
  /** Made when a node first comes to the level: there are many small pools. */
  readonly #levels: (FillSteps | undefined)[] = [];
  readonly #standings = new Map<NodeRecord, Standing>();
  /** When a search compares only some nodes, the nodes of a level are sorted by how full they are. */
  #isRanked = false;
  /** Made when a policy first needs one. */
  readonly #orders: NodeOrder[] = [];

  /** `isMixed`: it also contains nodes that can never take a task of some requests. */
  constructor(filters: FilterChain, work: PlannerWork, isMixed: boolean) {
    this.#filters = filters;
    this.#work = work;
    this.#allows = isMixed ? filters.allowsReady : filters.allowsInPool;
  }

  get size(): number {
    return this.#standings.size;
  }

  /** Adds the node, or moves it to the level of its free cpu. */
  put(record: NodeRecord): void {
    const level = levelOf(record.free);
    for (const order of this.#orders) order.put(record, level);
    const step = this.#isRanked ? stepOf(record.share) : 0;
    const turn = this.#isRanked ? record.lastTurn : 0;
    let standing = this.#standings.get(record);
    if (standing === undefined) {
      standing = { record, level, turn, step, before: undefined, after: undefined };
      this.#standings.set(record, standing);
    } else {
      // A node with a new task goes after the others of its step.
      if (standing.step === step && standing.level === level && standing.turn === turn) return;
      this.#levels[standing.level]?.remove(standing);
      standing.level = level;
      standing.turn = turn;
    }
    (this.#levels[level] ??= new FillSteps()).add(standing, step);
  }

  /** Returns whether it was present. */
  remove(record: NodeRecord): boolean {
    const standing = this.#standings.get(record);
    if (standing === undefined) return false;
    this.#levels[standing.level]?.remove(standing);
    this.#standings.delete(record);
    for (const order of this.#orders) order.remove(record);
    return true;
  }

  has(record: NodeRecord): boolean {
    return this.#standings.has(record);
  }

  /** Whether the node can take a task now; counts as a look at it. */
  fits(request: Request, record: NodeRecord): boolean {
    this.#work.nodesLookedAt++;
    return this.#allows(request, record);
  }

  /** No node below this level can take a task now. */
  lowestFor(request: Request): number {
    return levelOf(this.#filters.leastFree(request));
  }

  all(): Iterable<NodeRecord> {
    return this.#standings.keys();
  }

  /** The best node with free capacity by score, or the best of `candidatesMax`: those with just enough cpu first, or the emptiest of each level. */
  best(request: Request, scorer: Scorer, candidatesMax: number): NodeRecord | undefined {
    const best = new Best(request, scorer);
    if (this.size > candidatesMax) this.#rank();
    if (this.size > candidatesMax && scorer.order === "emptiest-first") {
      this.#offerEmptiest(request, best, candidatesMax);
    } else this.#offerUpward(request, best, candidatesMax);
    return best.record;
  }

  #rank(): void {
    if (this.#isRanked) return;
    this.#isRanked = true;
    for (const record of this.#standings.keys()) this.put(record);
  }

  #offerUpward(request: Request, best: Best, candidatesMax: number): void {
    for (let level = this.lowestFor(request); level < this.#levels.length; level++) {
      const left = candidatesMax - best.offered;
      this.#offer(level, request, best, { isFullestFirst: true, left, misfitsMax: Infinity });
      if (best.offered >= candidatesMax) return;
    }
  }

  /**
   * Some of each level: free cpu says little about which node would be the emptiest. Skips a few nodes of a level that do not fit; searches
   * all of them only if nothing was found.
   */
  #offerEmptiest(request: Request, best: Best, candidatesMax: number): void {
    const lowest = this.lowestFor(request);
    let used = 0;
    for (let level = lowest; level < this.#levels.length; level++) {
      if (this.#levels[level]?.isEmpty === false) used++;
    }
    // For amounts alone the emptiest are compared first, so fewer candidates suffice.
    const wanted = request.request === undefined ? candidatesMax / 2 : candidatesMax;
    const left = Math.max(CANDIDATES_PER_LEVEL_MIN, Math.floor(wanted / used));
    const bounds = { isFullestFirst: false, left, misfitsMax: MISFITS_PER_LEVEL_MAX };
    let isAll = true;
    for (let level = this.#levels.length - 1; level >= lowest; level--) {
      if (!this.#offer(level, request, best, bounds)) isAll = false;
    }
    if (isAll || best.record !== undefined) return;
    for (let level = this.#levels.length - 1; level >= lowest; level--) {
      this.#offer(level, request, best, { ...bounds, misfitsMax: Infinity });
      if (best.offered >= candidatesMax) return;
    }
  }

  /** Offers at most `left` nodes of a level. False: it gave up before it had tried all or found so many. */
  #offer(
    level: number,
    request: Request,
    best: Best,
    bounds: {
      readonly isFullestFirst: boolean;
      readonly left: number;
      readonly misfitsMax: number;
    },
  ): boolean {
    const { isFullestFirst, misfitsMax } = bounds;
    const nodes = this.#levels[level];
    let place = nodes?.first(isFullestFirst);
    let { left } = bounds;
    let misfits = 0;
    while (place !== undefined && left > 0) {
      if (this.fits(request, place.record)) {
        best.offer(place.record);
        left--;
      } else if (++misfits > misfitsMax) return false;
      place = nodes?.next(place, isFullestFirst);
    }
    return true;
  }

  orderBy(by: NodeOrder["by"]): NodeOrder {
    const known = this.#orders.find((order) => order.by === by);
    if (known !== undefined) return known;
    const made = new NodeOrder(
      by,
      Array.from({ length: LEVELS }, (_, level) => this.#levels[level]?.records() ?? NOBODY),
    );
    this.#orders.push(made);
    return made;
  }

  /** All nodes with free capacity, or undefined when there are more than `max`. */
  allFitting(request: Request, max: number): Set<NodeRecord> | undefined {
    const found = new Set<NodeRecord>();
    for (let level = this.lowestFor(request); level < LEVELS; level++) {
      for (const record of this.#levels[level]?.records() ?? NOBODY) {
        if (!this.fits(request, record)) continue;
        found.add(record);
        if (found.size > max) return undefined;
      }
    }
    return found;
  }
}
