import { invariant } from "../../../lib/invariant.ts";
import { limits } from "../../../limits.ts";
import type { Allocation, Pick } from "./allocation.ts";
import { isAtLeast, timesIn } from "../request/amount.ts";
import { areApart, type Budget, Capacity, TooComplex } from "./capacity.ts";
import type { Alternative, CompiledRequest, Need } from "./compile-request.ts";
import { NO_PARENT } from "../graph.ts";
import type { Layout } from "../layout.ts";
import { IN_ORDER, STRATEGIES, type MatchStrategy, Taker } from "./take.ts";
import { Use } from "./use.ts";

export interface Match {
  readonly fits: boolean;
  /** The alternative that fits; the first when none does. */
  readonly alternative: number;
  /** How many first slots of that alternative would fit; undefined: the job asks for nothing. */
  readonly slots: number | undefined;
}

export type Allocated = Match & { readonly allocation: Allocation | undefined };

/**
 * Whether a request fits: the empty graph, or the capacity that `use` leaves free.
 *
 * Exact when the needs of the request cannot compete (`areApart`): any chain of types, with any
 * number of different types at each level. For other requests the search tries several orders, and
 * may reject a request that would fit. It never accepts a request that does not fit.
 */
export function match(
  layout: Layout,
  request: CompiledRequest,
  use?: Use,
  budgets = newBudgets(),
): Match {
  const attempts = attemptsAt(layout, request, use, budgets);
  const fitting = attempts.findIndex((attempt) => attempt().fits());
  return { fits: fitting >= 0, ...slotsOf(attempts, fitting) };
}

/** The same, with the vertices that a job would get. Records nothing: `use.add` does. */
export function allocate(layout: Layout, request: CompiledRequest, use?: Use): Allocated {
  const attempts = attemptsAt(layout, request, use, newBudgets());
  for (const [number, attempt] of attempts.entries()) {
    const picks = attempt().picks();
    if (picks === undefined) continue;
    const allocation = { alternative: number, picks };
    return { fits: true, ...slotsOf(attempts, number), allocation };
  }
  return { fits: false, ...slotsOf(attempts, -1), allocation: undefined };
}

/** The attempt of each alternative, made on first use. */
function attemptsAt(
  layout: Layout,
  { alternatives }: CompiledRequest,
  use: Use | undefined,
  budgets: Budgets,
): readonly (() => Attempt)[] {
  return alternatives.map((alternative) => {
    let attempt: Attempt | undefined;
    return () => (attempt ??= new Attempt(layout, alternative, use, budgets));
  });
}

function slotsOf(attempts: readonly (() => Attempt)[], fitting: number): Omit<Match, "fits"> {
  const alternative = Math.max(0, fitting);
  return { alternative, slots: attempts[alternative]?.().slots() };
}

/** The steps that all alternatives of a request may take together on one graph. */
export interface Budgets {
  readonly match: Budget;
  readonly search: Budget;
}

export const newBudgets = (): Budgets => ({
  match: { stepsLeft: limits.matchStepsMax },
  search: { stepsLeft: limits.searchStepsMax },
});

/** The number of steps taken since the budgets were new. */
export const stepsTaken = ({ match: { stepsLeft }, search }: Budgets): number =>
  limits.matchStepsMax - stepsLeft + limits.searchStepsMax - search.stepsLeft;

/** One alternative on one graph. */
export class Attempt {
  readonly #layout: Layout;
  readonly #alternative: Alternative;
  readonly #use: Use | undefined;
  readonly #budget: Budget;
  readonly #searchBudget: Budget;
  readonly capacity: Capacity;

  constructor(
    layout: Layout,
    alternative: Alternative,
    use: Use | undefined,
    { match, search }: Budgets,
  ) {
    this.#budget = match;
    this.#searchBudget = search;
    this.#layout = layout;
    this.#alternative = alternative;
    this.#use = use?.isEmpty === true ? undefined : use;
    this.capacity = new Capacity(layout, alternative, this.#use, this.#budget);
  }

  /** The first tree that does not fit even alone. */
  tooLarge(): Need | undefined {
    const { capacity } = this;
    return this.#alternative.trees.find(
      (tree) => !isAtLeast(capacity.inside(capacity.top, tree), tree.count),
    );
  }

  /** Whether the search ran out of budget; the answer is then no. */
  get isTooComplex(): boolean {
    return this.#budget.stepsLeft < 0 || this.#searchBudget.stepsLeft < 0;
  }

  fits(): boolean {
    return this.#within(false, () => {
      if (this.tooLarge() !== undefined) return false;
      return this.#isExact(this.#alternative.trees) || this.#search() !== undefined;
    });
  }

  picks(): readonly Pick[] | undefined {
    return this.#within(undefined, () => {
      if (this.tooLarge() !== undefined) return undefined;
      if (!this.#isExact(this.#alternative.trees)) return this.#search();
      const { capacity } = this;
      this.#budget.stepsLeft = Infinity; // it fits: the remaining work is once per vertex
      const taker = new Taker(this.#layout, capacity, this.#alternative, undefined, IN_ORDER);
      invariant(taker.takeAll(), "what fits can be taken");
      return taker.picks;
    });
  }

  slots(): number | undefined {
    const { needs, slot } = this.#alternative;
    if (slot === undefined) return undefined;
    const path: Need[] = [];
    for (let at: Need | undefined = slot.need; at !== undefined; at = needs[at.above]) {
      path.unshift(at);
    }
    return this.#within(0, () => {
      const count = this.#isExact([slot.need])
        ? this.capacity.along(this.capacity.top, path)
        : this.#countTaken(NO_PARENT, path);
      return timesIn(count, slot.count);
    });
  }

  #within<Result>(whenTooComplex: Result, act: () => Result): Result {
    try {
      return act();
    } catch (error) {
      if (error instanceof TooComplex) return whenTooComplex;
      throw error;
    }
  }

  #isExact(needs: readonly Need[]): boolean {
    return areApart(this.#layout, needs);
  }

  /** The same for needs that compete: by trial. */
  #countTaken(host: number, [need, ...deeper]: readonly Need[]): number {
    if (need === undefined) return 0;
    const { capacity } = this;
    if (deeper.length === 0) {
      return this.#countByTaking(host, need, capacity.inside(capacity.placeOf(host), need));
    }
    if (need.type === undefined) return this.#countTaken(host, deeper);
    const { ids, endOf } = this.#layout.graph;
    const end = host === NO_PARENT ? ids.length : (endOf[host] ?? 0);
    let count = 0;
    let vertex = host + 1;
    while (vertex < end) {
      const place = capacity.placeOf(vertex);
      const isHolder = capacity.isHolder(place, need);
      if (isHolder) count += this.#countTaken(vertex, deeper);
      vertex = isHolder || capacity.inside(place, need) === 0 ? (endOf[vertex] ?? end) : vertex + 1;
    }
    return count;
  }

  #countByTaking(host: number, need: Need, most: number): number {
    let best = 0;
    for (const strategy of STRATEGIES) {
      if (best >= most) break;
      this.#withTaker(strategy, (taker) => {
        best = Math.max(best, taker.take(host, need, most, -1));
      });
    }
    return best;
  }

  #search(): readonly Pick[] | undefined {
    if (this.#isTooMuch()) return undefined;
    for (const strategy of STRATEGIES) {
      const picks = this.#withTaker(strategy, (taker) =>
        taker.takeAll() ? [...taker.picks] : undefined,
      );
      if (picks !== undefined) return picks;
    }
    return undefined;
  }

  /** Whether the graph has fewer of a type than all needs together ask for. */
  #isTooMuch(): boolean {
    const { types, shapes, top } = this.#layout;
    const asked = new Map<string, number>();
    const add = ({ type, unit, count, inside }: Need, copies: number): void => {
      const all = copies * count;
      if (type !== undefined && unit === undefined) asked.set(type, (asked.get(type) ?? 0) + all);
      for (const inner of inside) add(inner, all);
    };
    for (const tree of this.#alternative.trees) add(tree, 1);
    return [...asked].some(([type, count]) => {
      const there = shapes[top]?.inside[types.get(type) ?? -1] ?? 0;
      return !isAtLeast(there, count);
    });
  }

  /**
   * Marks found vertices in the record of use during the search, and removes all marks afterwards.
   */
  #withTaker<Result>(strategy: MatchStrategy, act: (taker: Taker) => Result): Result {
    const marks = this.#use ?? new Use(this.#layout.graph);
    const capacity = new Capacity(this.#layout, this.#alternative, marks, this.#searchBudget);
    const taker = new Taker(this.#layout, capacity, this.#alternative, marks, strategy);
    try {
      return act(taker);
    } finally {
      taker.releaseMarks();
    }
  }
}
