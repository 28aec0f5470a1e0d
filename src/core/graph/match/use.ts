import { invariant } from "../../../lib/invariant.ts";
import type { Allocation, Share } from "./allocation.ts";
import { type Graph, NO_PARENT, vertexNumber } from "../graph.ts";

const NONE: ReadonlySet<number> = new Set();
/** The rounding error that sums of converted amounts may have. */
const ROUNDING = 1e-12;

/**
 * The allocated amounts of a graph's vertices, in their own units. When a vertex is itself
 * allocated, nothing inside it can be allocated to others. Also records which parts of the graph
 * have any use, so that the rest can be matched by shape.
 */
export class Use {
  readonly #graph: Graph;
  readonly #taken = new Map<number, number>();
  /** Pieces marked as found during the match of one job; empty between matches. */
  readonly #held = new Map<number, number>();
  /** The number of marks at a vertex and inside it; -1 is the whole graph. */
  readonly #marks = new Map<number, number>();
  readonly #markedChildren = new Map<number, Set<number>>();
  /** Amounts of vertices that the graph lacks at present: a node may leave and come back. */
  readonly #elsewhere = new Map<string, number>();
  /** Allocated amounts inside a vertex, by type: the search skips full vertices. */
  readonly #takenInside = new Map<number, Map<string, number>>();

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  get isEmpty(): boolean {
    return this.#marks.size === 0;
  }

  taken(vertex: number): number {
    return this.#taken.get(vertex) ?? 0;
  }

  held(vertex: number): number {
    return this.#held.get(vertex) ?? 0;
  }

  /** Whether anything is in use in a vertex or inside it. */
  isMarked(vertex: number): boolean {
    return this.#marks.has(vertex);
  }

  isMarkedInside(vertex: number): boolean {
    const own = (this.#taken.has(vertex) ? 1 : 0) + (this.#held.has(vertex) ? 1 : 0);
    return (this.#marks.get(vertex) ?? 0) > own;
  }

  /** The marked children of a vertex (-1: the marked roots). */
  markedChildren(vertex: number): ReadonlySet<number> {
    return this.#markedChildren.get(vertex) ?? NONE;
  }

  takenInside(vertex: number, type: string): number {
    return this.#takenInside.get(vertex)?.get(type) ?? 0;
  }

  take(vertex: number, amount: number): void {
    this.#change(this.#taken, vertex, amount);
    const type = this.#graph.kinds[this.#graph.kindOf[vertex] ?? -1]?.type ?? "";
    let at = vertex;
    while (at !== NO_PARENT) {
      at = this.#graph.parentOf[at] ?? NO_PARENT;
      if (!this.#marks.has(at)) {
        this.#takenInside.delete(at);
        continue;
      }
      const amounts = this.#takenInside.get(at) ?? new Map<string, number>();
      amounts.set(type, (amounts.get(type) ?? 0) + amount);
      this.#takenInside.set(at, amounts);
    }
  }

  hold(vertex: number, pieces: number): void {
    this.#change(this.#held, vertex, pieces);
  }

  add({ picks }: Allocation): void {
    for (const { vertex, taken } of picks) if (taken > 0) this.take(vertex, taken);
  }

  remove({ picks }: Allocation): void {
    for (const { vertex, taken } of picks) if (taken > 0) this.take(vertex, -taken);
  }

  /** The same by id, for stored shares; also for vertices that the graph lacks at present. */
  addShares(shares: readonly Pick<Share, "id" | "amount">[]): void {
    for (const { id, amount } of shares) this.#takeById(id, amount);
  }

  removeShares(shares: readonly Pick<Share, "id" | "amount">[]): void {
    for (const { id, amount } of shares) this.#takeById(id, -amount);
  }

  /** Allocated amounts by id, for storage and display. */
  *entries(): IterableIterator<readonly [id: string, amount: number]> {
    for (const [vertex, amount] of this.#taken) yield [this.#graph.ids[vertex] ?? "", amount];
    yield* this.#elsewhere;
  }

  /** The same use on another graph of the same cluster; ids identify the vertices. */
  moveTo(graph: Graph): Use {
    const moved = new Use(graph);
    for (const [id, amount] of this.entries()) moved.#takeById(id, amount);
    return moved;
  }

  #takeById(id: string, amount: number): void {
    const vertex = vertexNumber(this.#graph, id);
    if (vertex !== undefined) return this.take(vertex, amount);
    const left = (this.#elsewhere.get(id) ?? 0) + amount;
    if (left > 0) this.#elsewhere.set(id, left);
    else this.#elsewhere.delete(id);
  }

  #change(amounts: Map<number, number>, vertex: number, by: number): void {
    const before = amounts.get(vertex) ?? 0;
    const after = before + by;
    const isNothing = Math.abs(after) <= ROUNDING * Math.max(Math.abs(before), Math.abs(by));
    invariant(isNothing || after > 0, `more is released than was taken of vertex ${vertex}`);
    if (isNothing) amounts.delete(vertex);
    else amounts.set(vertex, after);
    if (before === 0 && !isNothing) this.#mark(vertex, 1);
    if (before > 0 && isNothing) this.#mark(vertex, -1);
  }

  #mark(vertex: number, by: 1 | -1): void {
    for (let at = vertex; ; at = this.#graph.parentOf[at] ?? NO_PARENT) {
      const marks = (this.#marks.get(at) ?? 0) + by;
      if (marks === 0) this.#marks.delete(at);
      else this.#marks.set(at, marks);
      if (at === NO_PARENT) return;
      const isNew = by === 1 && marks === 1;
      const isGone = marks === 0;
      if (!isNew && !isGone) continue;
      const parent = this.#graph.parentOf[at] ?? NO_PARENT;
      const children = this.#markedChildren.get(parent) ?? new Set();
      if (isNew) children.add(at);
      else children.delete(at);
      if (children.size === 0) this.#markedChildren.delete(parent);
      else this.#markedChildren.set(parent, children);
    }
  }
}
