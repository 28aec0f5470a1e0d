import { conversion, isAtLeast, timesIn } from "../request/amount.ts";
import type { Alternative, CompiledRequirement, Need } from "./compile-request.ts";
import { NO_PARENT } from "../graph.ts";
import type { Layout, VertexShape } from "../layout.ts";
import { matchWork } from "./match-work.ts";
import { Memo } from "./memo.ts";
import type { Use } from "./use.ts";

/** The type of a machine. No slot spans two machines. */
const MACHINE = "node";
const UNKNOWN = -1;
const NO_SHAPES: VertexShape = {
  type: -1,
  size: 0,
  unit: "",
  linkSet: 0,
  children: [],
  counts: [],
  inside: new Float64Array(0),
};

/** The remaining steps for one alternative. */
export interface Budget {
  stepsLeft: number;
}

/** Thrown when the budget is spent: the graph is too irregular, or the request too large. */
export class TooComplex extends Error {}

/**
 * How many of each need fit where, each counted as if it were alone. Exact for needs that cannot
 * compete with each other (see `areApart`), and an upper bound for all others.
 *
 * A place is a shape or, where something is in use, a vertex: numbers below `shapes.length` are
 * shapes, numbers above are vertices, and the last one is the top. The result for a shape is
 * computed once, however often the shape occurs.
 */
export class Capacity {
  readonly #layout: Layout;
  readonly #use: Use | undefined;
  readonly #needs: number;
  /** The number of a need's type in this graph; -1: the graph has none. */
  readonly #types: Int32Array;
  /** Needs that exceed even the largest vertices of the graph. */
  readonly #isHopeless: Uint8Array;
  /** By shape and need: how many fit inside; then the same for slots of machines. */
  readonly #known: Memo;
  readonly #knownUsed = new Memo(Infinity);
  readonly #requirements: number;
  readonly #met: Memo;
  /** For a slot: whether it stays within one machine; -1: not computed yet. */
  readonly #staysInMachine: Int8Array;
  readonly #machine: number;
  readonly #budget: Budget;

  constructor(
    layout: Layout,
    { needs, requirements }: Alternative,
    use: Use | undefined,
    budget: Budget,
  ) {
    this.#layout = layout;
    this.#budget = budget;
    this.#use = use;
    this.#needs = needs.length;
    this.#types = new Int32Array(needs.length);
    for (const { number, type } of needs) {
      this.#types[number] = type === undefined ? -1 : (layout.types.get(type) ?? -1);
    }
    this.#isHopeless = new Uint8Array(needs.length);
    for (const need of needs.toReversed()) {
      this.#isHopeless[need.number] = this.#couldEverFit(need) ? 0 : 1;
    }
    this.#known = new Memo(layout.shapes.length * needs.length * 2);
    this.#requirements = requirements;
    this.#met = new Memo(layout.linkSets.length * requirements);
    this.#staysInMachine = new Int8Array(needs.length).fill(UNKNOWN);
    this.#machine = layout.types.get(MACHINE) ?? -2;
  }

  get top(): number {
    return this.placeOf(NO_PARENT);
  }

  /** The place of a vertex; -1 is the top. */
  placeOf(vertex: number): number {
    const { shapes, shapeOf, top } = this.#layout;
    const isUsed = this.#use?.isMarked(vertex) === true;
    if (vertex === NO_PARENT) return isUsed ? shapes.length + shapeOf.length : top;
    return isUsed ? shapes.length + vertex : (shapeOf[vertex] ?? 0);
  }

  /** Drops the results that depend on use, after an allocation or a release. */
  clearUsed(): void {
    this.#knownUsed.clear();
  }

  hasType({ number, type }: Need): boolean {
    return type === undefined || (this.#types[number] ?? -1) >= 0;
  }

  /** How many of a need fit strictly inside a place. */
  inside(place: number, need: Need): number {
    if (this.#isHopeless[need.number] === 1 || this.#mostInside(place, need) <= 0) return 0;
    return this.#remember(place, need.number, () => {
      if (this.isClosed(place)) return 0;
      if (need.type !== undefined) return this.sum(place, (child) => this.at(child, need));
      return this.isSpread(place, need) ? this.inMachines(place, need) : this.together(place, need);
    });
  }

  /**
   * How many of a need fit at a place or inside it. When vertices of one type contain each other,
   * either the outer one counts or the inner ones do.
   */
  at(place: number, need: Need): number {
    const inner = this.inside(place, need);
    return this.isOfType(place, need) ? Math.max(this.own(place, need), inner) : inner;
  }

  isOfType(place: number, need: Need): boolean {
    return this.shapeAt(place).type === (this.#types[need.number] ?? -1);
  }

  /** How much of a need the vertex at this place itself covers. */
  own(place: number, need: Need): number {
    this.#spend();
    const { size } = this.shapeAt(place);
    if (!this.meetsAll(place, need)) return 0;
    const { taken, held, isUsedInside } = this.#usedOf(place);
    if (need.inside.length === 0) {
      if (isUsedInside || (need.isExclusive && taken > 0)) return 0;
      const per = this.perCount(place, need);
      // Use can exceed the size, when a cluster's new graph is smaller than the old one.
      return per === 0 ? 0 : Math.max(0, size - taken) / per;
    }
    if (taken > 0 || (need.isExclusive && isUsedInside)) return 0;
    return Math.min(Math.max(0, Math.floor(size) - held), this.together(place, need));
  }

  /** How many copies of all children of a need fit inside a place. */
  together(place: number, { inside }: Need): number {
    for (const inner of inside) {
      if (inner.unit === undefined && !isAtLeast(this.#mostInside(place, inner), inner.count)) {
        return 0;
      }
    }
    let copies = Infinity;
    for (const inner of inside) {
      copies = Math.min(copies, timesIn(this.inside(place, inner), inner.count));
      if (copies === 0) break;
    }
    return copies;
  }

  #couldEverFit({ number, type, inside }: Need): boolean {
    const { types, mostInside } = this.#layout;
    const own = this.#types[number] ?? -1;
    if (type !== undefined && own < 0) return false;
    return inside.every((inner) => {
      if (this.#isHopeless[inner.number] === 1) return false;
      if (type === undefined || inner.type === undefined || inner.unit !== undefined) return true;
      const most = mostInside[own * types.size + (this.#types[inner.number] ?? -1)] ?? 0;
      return isAtLeast(most, inner.count);
    });
  }

  /** An upper bound of the free pieces of a need's type inside a place. */
  #mostInside(place: number, need: Need): number {
    if (need.type === undefined) return Infinity;
    const type = this.#types[need.number] ?? -1;
    if (type < 0) return 0;
    const all = this.shapeAt(place).inside[type] ?? 0;
    const vertex = place - this.#layout.shapes.length;
    if (vertex < 0 || this.#use === undefined) return all;
    const holder = vertex === this.#layout.shapeOf.length ? NO_PARENT : vertex;
    return all - this.#use.takenInside(holder, need.type);
  }

  /** One count of a need in the vertex's unit; 0: the units cannot be compared. */
  perCount(place: number, { unit }: Need): number {
    return unit === undefined ? 1 : (conversion(unit, this.shapeAt(place).unit) ?? 0);
  }

  meetsAll(place: number, { requires }: Need): boolean {
    if (requires.length === 0) return true;
    const { linkSet } = this.shapeAt(place);
    return requires.every((each) => this.#isMet(linkSet, each));
  }

  meets(place: number, requirement: CompiledRequirement): boolean {
    return this.#isMet(this.shapeAt(place).linkSet, requirement);
  }

  #isMet(linkSet: number, compiled: CompiledRequirement): boolean {
    const at = linkSet * this.#requirements + compiled.number;
    const known = this.#met.get(at);
    if (known !== UNKNOWN) return known === 1;
    const { own, above = -1 } = this.#layout.linkSets[linkSet] ?? {};
    const isMet =
      own?.get(compiled.requirement.subsystem)?.some(compiled.test) === true ||
      (above >= 0 && this.#isMet(above, compiled));
    this.#met.set(at, isMet ? 1 : 0);
    return isMet;
  }

  /**
   * Processes run in slots, and no process spans machines. So a slot that is requested above
   * machines lies inside one machine, if machines contain everything that it requests.
   */
  isSpread(place: number, need: Need): boolean {
    if (!((this.shapeAt(place).inside[this.#machine] ?? 0) > 0)) return false;
    if (this.#staysInMachine[need.number] === UNKNOWN) {
      const { types, mostInside } = this.#layout;
      const isInMachines = need.types.every((type) => {
        const number = types.get(type) ?? -1;
        return number >= 0 && (mostInside[this.#machine * types.size + number] ?? 0) > 0;
      });
      this.#staysInMachine[need.number] = isInMachines ? 1 : 0;
    }
    return this.#staysInMachine[need.number] === 1;
  }

  /** How many copies of a slot fit into the machines inside a place. */
  inMachines(place: number, slot: Need): number {
    return this.#remember(place, this.#needs + slot.number, () => {
      if (this.isClosed(place)) return 0;
      return this.sum(place, (child) => {
        const inner = this.inMachines(child, slot);
        return this.isMachine(child) ? Math.max(inner, this.ownSlots(child, slot)) : inner;
      });
    });
  }

  isMachine(place: number): boolean {
    return this.shapeAt(place).type === this.#machine;
  }

  /** How many copies of a slot fit into the machine at a place. */
  ownSlots(place: number, slot: Need): number {
    return this.isClosed(place) ? 0 : this.together(place, slot);
  }

  /** How many of the last need of a path fit, each inside a vertex that fits the need before it. */
  along(place: number, [need, ...deeper]: readonly Need[]): number {
    if (need === undefined) return 0;
    if (deeper.length === 0) return this.inside(place, need);
    if (need.type === undefined) return this.along(place, deeper);
    if (this.inside(place, need) === 0) return 0;
    return this.sum(place, (child) =>
      this.isHolder(child, need) ? this.along(child, deeper) : this.along(child, [need, ...deeper]),
    );
  }

  isHolder(place: number, need: Need): boolean {
    return this.isOfType(place, need) && this.meetsAll(place, need);
  }

  shapeAt(place: number): VertexShape {
    const { shapes, shapeOf, top } = this.#layout;
    if (place < shapes.length) return shapes[place] ?? NO_SHAPES;
    return shapes[shapeOf[place - shapes.length] ?? top] ?? NO_SHAPES;
  }

  /** Whether the vertex at a place is itself allocated: then nothing inside it can be allocated. */
  isClosed(place: number): boolean {
    return this.#usedOf(place).taken > 0;
  }

  #usedOf(place: number): { taken: number; held: number; isUsedInside: boolean } {
    const vertex = place - this.#layout.shapes.length;
    if (vertex < 0 || this.#use === undefined || vertex >= this.#layout.shapeOf.length) {
      return UNUSED;
    }
    return {
      taken: this.#use.taken(vertex),
      held: this.#use.held(vertex),
      isUsedInside: this.#use.isMarkedInside(vertex),
    };
  }

  /** The sum over all children of a place. */
  sum(place: number, amountAt: (child: number) => number): number {
    const { children, counts } = this.shapeAt(place);
    let sum = 0;
    for (let at = 0; at < children.length; at++) {
      sum += (counts[at] ?? 0) * amountAt(children[at] ?? 0);
    }
    const { shapes, shapeOf } = this.#layout;
    const vertex = place - shapes.length;
    if (vertex < 0 || this.#use === undefined) return sum;
    // A vertex in use counts by itself, no longer by its shape.
    const parent = vertex === shapeOf.length ? NO_PARENT : vertex;
    for (const child of this.#use.markedChildren(parent)) {
      sum += amountAt(shapes.length + child) - amountAt(shapeOf[child] ?? 0);
    }
    return sum;
  }

  #remember(place: number, slot: number, compute: () => number): number {
    const at = place * this.#needs * 2 + slot;
    const known = place < this.#layout.shapes.length ? this.#known : this.#knownUsed;
    const remembered = known.get(at);
    if (remembered !== UNKNOWN) return remembered;
    this.#spend();
    return known.set(at, compute());
  }

  #spend(): void {
    matchWork.steps++;
    this.#budget.stepsLeft -= 1;
    if (this.#budget.stepsLeft < 0) throw new TooComplex();
  }
}

const UNUSED = { taken: 0, held: 0, isUsedInside: false } as const;

/**
 * Whether no two needs of a request can compete for vertices of this graph: then each fits or not,
 * independent of the others. Needs compete when they ask for the same type in different places, or
 * when one takes a whole vertex that may contain what another asks for.
 */
export function areApart({ types, mostInside }: Layout, roots: readonly Need[]): boolean {
  const isInWay = (one: Need, other: Need): boolean => {
    if (one.type === undefined || other.type === undefined) return false;
    if (one.type === other.type) return true;
    if (one.inside.length > 0 && !one.isExclusive) return false;
    const [outer, inner] = [types.get(one.type), types.get(other.type)];
    if (outer === undefined || inner === undefined) return false;
    return (mostInside[outer * types.size + inner] ?? 0) > 0;
  };
  const below = (need: Need): Need[] => [need, ...need.inside.flatMap(below)];
  const branchesAreApart = (branches: readonly Need[]): boolean =>
    branches.every((branch, at) => {
      if (!branchesAreApart(branch.inside)) return false;
      const others = branches.slice(at + 1).flatMap(below);
      if (others.length === 0) return true;
      return below(branch).every((one) =>
        others.every((other) => !isInWay(one, other) && !isInWay(other, one)),
      );
    });
  return branchesAreApart(roots);
}
