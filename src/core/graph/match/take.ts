import type { Pick } from "./allocation.ts";
import { isAtLeast } from "../request/amount.ts";
import type { Capacity } from "./capacity.ts";
import type { Alternative, Need } from "./compile-request.ts";
import { NO_PARENT } from "../graph.ts";
import type { Layout } from "../layout.ts";
import type { Use } from "./use.ts";

/** The order in which sibling needs are satisfied and vertices are tried. */
export interface MatchStrategy {
  readonly needs: "as-written" | "reversed" | "scarcest-first";
  readonly vertices: "in-order" | "smallest-first" | "largest-first";
}

export const IN_ORDER: MatchStrategy = { needs: "as-written", vertices: "in-order" };

export const STRATEGIES: readonly MatchStrategy[] = (
  ["scarcest-first", "as-written", "reversed"] as const
).flatMap((needs) =>
  (["smallest-first", "in-order", "largest-first"] as const).map((vertices) => ({
    needs,
    vertices,
  })),
);

/**
 * Finds vertices for needs, one after the other. Needs that do not compete are found without
 * backtracking. For all others the taker marks vertices in `use`, so that none counts twice; the
 * caller removes the marks with `releaseMarks`.
 */
export class Taker {
  readonly picks: Pick[] = [];
  readonly #layout: Layout;
  readonly #capacity: Capacity;
  readonly #alternative: Alternative;
  readonly #use: Use | undefined;
  readonly #strategy: MatchStrategy;

  constructor(
    layout: Layout,
    capacity: Capacity,
    alternative: Alternative,
    marks: Use | undefined,
    strategy: MatchStrategy,
  ) {
    this.#layout = layout;
    this.#capacity = capacity;
    this.#alternative = alternative;
    this.#use = marks;
    this.#strategy = strategy;
  }

  /** Whether the search found vertices for all trees of the request together. */
  takeAll(): boolean {
    return this.#takeEach(NO_PARENT, this.#alternative.trees, 1, -1);
  }

  releaseMarks(): void {
    this.#backTo(0);
  }

  /** Finds up to `wanted` of a need inside a vertex (-1: the graph). Returns how many it found. */
  take(host: number, need: Need, wanted: number, inside: number): number {
    if (need.type === undefined) return this.#takeSlots(host, need, wanted, inside);
    let found = 0;
    for (const vertex of this.#candidates(host, need)) {
      if (isAtLeast(found, wanted)) break;
      found +=
        need.inside.length === 0
          ? this.#takeLeaf(vertex, need, wanted - found, inside)
          : this.#takeCopies(vertex, need, wanted - found, inside);
    }
    return found;
  }

  #takeEach(host: number, needs: readonly Need[], copies: number, inside: number): boolean {
    return this.#inTurn(host, needs).every((need) => {
      const wanted = copies * need.count;
      return isAtLeast(this.take(host, need, wanted, inside), wanted);
    });
  }

  #inTurn(host: number, needs: readonly Need[]): readonly Need[] {
    if (this.#use === undefined || this.#strategy.needs === "as-written") return needs;
    if (this.#strategy.needs === "reversed") return needs.toReversed();
    const place = this.#capacity.placeOf(host);
    const slack = (need: Need): number => this.#capacity.inside(place, need) / need.count;
    return needs.toSorted((one, other) => slack(one) - slack(other));
  }

  #takeLeaf(vertex: number, need: Need, wanted: number, inside: number): number {
    const place = this.#capacity.placeOf(vertex);
    const counts = Math.min(wanted, this.#capacity.own(place, need));
    if (counts <= 0) return 0;
    const { size } = this.#capacity.shapeAt(place);
    const taken = need.isExclusive ? size : counts * this.#capacity.perCount(place, need);
    this.#add({ need: need.number, inside, vertex, counts, taken });
    return counts;
  }

  /** Takes as many copies as fit into one vertex of the need's type. */
  #takeCopies(vertex: number, need: Need, wanted: number, inside: number): number {
    const place = this.#capacity.placeOf(vertex);
    let copies = Math.min(wanted, this.#capacity.own(place, need));
    while (copies > 0) {
      const before = this.picks.length;
      this.#add({ need: need.number, inside, vertex, counts: copies, taken: 0 });
      if (this.#takeEach(vertex, need.inside, copies, before)) {
        if (need.isExclusive) this.#takeWhole(before, this.#capacity.shapeAt(place).size);
        return copies;
      }
      this.#backTo(before);
      copies = fewer(copies);
    }
    return 0;
  }

  #takeSlots(host: number, need: Need, wanted: number, inside: number): number {
    let found = 0;
    for (const vertex of this.#slotPlaces(host, need)) {
      if (found >= wanted) break;
      let copies = Math.min(
        wanted - found,
        this.#capacity.together(this.#capacity.placeOf(vertex), need),
      );
      while (copies > 0) {
        const before = this.picks.length;
        this.#add({ need: need.number, inside, vertex, counts: copies, taken: 0 });
        if (this.#takeEach(vertex, need.inside, copies, before)) break;
        this.#backTo(before);
        copies = fewer(copies);
      }
      found += copies;
    }
    return found;
  }

  /** The vertices that can serve a need, computed lazily. */
  #candidates(host: number, need: Need): Iterable<number> {
    const size = (vertex: number): number =>
      this.#capacity.own(this.#capacity.placeOf(vertex), need);
    const candidates = this.#within(host, (place) => {
      const inner = this.#capacity.inside(place, need);
      const own = this.#capacity.isOfType(place, need) ? this.#capacity.own(place, need) : 0;
      return own > 0 && own >= inner ? "take" : inner > 0 ? "enter" : "pass";
    });
    // Pieces can come from several vertices, so sizes matter only when each vertex is taken whole.
    const isByPiece = need.inside.length === 0 && !need.isExclusive;
    return isByPiece ? candidates : this.#sorted(candidates, size);
  }

  #slotPlaces(host: number, slot: Need): Iterable<number> {
    const capacity = this.#capacity;
    if (!capacity.isSpread(capacity.placeOf(host), slot)) return [host];
    const size = (vertex: number): number => capacity.ownSlots(capacity.placeOf(vertex), slot);
    return this.#sorted(
      this.#within(host, (place) => {
        const inner = capacity.inMachines(place, slot);
        const own = capacity.isMachine(place) ? capacity.ownSlots(place, slot) : 0;
        return own > 0 && own >= inner ? "take" : inner > 0 ? "enter" : "pass";
      }),
      size,
    );
  }

  *#within(host: number, judge: (place: number) => "take" | "enter" | "pass"): Iterable<number> {
    const { endOf, ids } = this.#layout.graph;
    const end = host === NO_PARENT ? ids.length : (endOf[host] ?? 0);
    let vertex = host + 1;
    while (vertex < end) {
      const verdict = judge(this.#capacity.placeOf(vertex));
      if (verdict === "take") yield vertex;
      vertex = verdict === "enter" ? vertex + 1 : (endOf[vertex] ?? end);
    }
  }

  #sorted(vertices: Iterable<number>, size: (vertex: number) => number): Iterable<number> {
    if (this.#use === undefined || this.#strategy.vertices === "in-order") return vertices;
    const sign = this.#strategy.vertices === "smallest-first" ? 1 : -1;
    return [...vertices]
      .map((vertex) => ({ vertex, size: size(vertex) }))
      .sort((one, other) => sign * (one.size - other.size) || one.vertex - other.vertex)
      .map(({ vertex }) => vertex);
  }

  #add(pick: Pick): void {
    this.picks.push(pick);
    if (this.#use === undefined) return;
    if (pick.taken > 0) this.#use.take(pick.vertex, pick.taken);
    else if (this.#isHolder(pick)) this.#use.hold(pick.vertex, pick.counts);
    this.#capacity.clearUsed();
  }

  #takeWhole(number: number, size: number): void {
    const pick = this.picks[number];
    if (pick === undefined) return;
    this.picks[number] = { ...pick, taken: size };
    this.#use?.take(pick.vertex, size);
    this.#capacity.clearUsed();
  }

  #backTo(length: number): void {
    while (this.picks.length > length) {
      const pick = this.picks.pop();
      if (pick === undefined || this.#use === undefined) continue;
      if (pick.taken > 0) this.#use.take(pick.vertex, -pick.taken);
      if (this.#isHolder(pick)) this.#use.hold(pick.vertex, -pick.counts);
    }
    this.#capacity.clearUsed();
  }

  #isHolder({ need }: Pick): boolean {
    const { type, inside = [] } = this.#alternative.needs[need] ?? {};
    return type !== undefined && inside.length > 0;
  }
}

const fewer = (copies: number): number => (copies > 8 ? Math.floor(copies / 2) : copies - 1);
