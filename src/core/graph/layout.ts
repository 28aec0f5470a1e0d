import { runToEnd } from "../../lib/run-to-end.ts";
import { limits } from "../../limits.ts";
import { type Graph, NO_PARENT } from "./graph.ts";
import { SLICE } from "./joined-texts.ts";
import { canonicalJson } from "./metadata.ts";
import type { Scalars } from "./request/requirement.ts";
import type { Subsystem, SubsystemVertex } from "./subsystems/subsystem.ts";

/**
 * Vertices that are equal in everything that a request can ask for, including their descendants.
 */
export interface VertexShape {
  /** The number of its type; -1: the top, which contains all roots. */
  readonly type: number;
  readonly size: number;
  readonly unit: string;
  /** Its own links and those of its ancestors: a link to a rack holds for the nodes of the rack. */
  readonly linkSet: number;
  /** The shapes of the children, each once, and how often each occurs. */
  readonly children: readonly number[];
  readonly counts: readonly number[];
  /** Pieces among the descendants, by type. */
  readonly inside: Float64Array;
}

/** The links of a vertex: its own by subsystem, and the set of its parent. */
export interface LinkSet {
  /** The number of another set; -1: none. */
  readonly above: number;
  readonly own: ReadonlyMap<string, readonly Scalars[]>;
}

/**
 * A graph and its subsystems, folded for matching. Most clusters repeat a few shapes many times,
 * and a match of one vertex holds for every vertex of the same shape.
 */
export interface Layout {
  readonly graph: Graph;
  readonly subsystems: ReadonlyMap<string, Subsystem>;
  readonly types: ReadonlyMap<string, number>;
  readonly shapes: readonly VertexShape[];
  readonly shapeOf: Int32Array;
  /** The number of the top's shape. */
  readonly top: number;
  readonly linkSets: readonly LinkSet[];
  /**
   * At row type × number of types + column type: the most of the column's type inside one vertex of
   * the row's type.
   */
  readonly mostInside: Float64Array;
  /**
   * Layouts with equal keys give equal answers to every request; undefined: too irregular to
   * compare.
   */
  readonly key: string | undefined;
}

export const TOP_TYPE = -1;

type Subsystems = ReadonlyMap<string, Subsystem>;

/** The newest layout of each graph, made in advance: a million vertices take a while. */
const kept = new WeakMap<Graph, Layout>();

/** Keeps the layout of a graph and its subsystems for `layOut`. */
export function keepLayout(layout: Layout): void {
  kept.set(layout.graph, layout);
}

export function layOut(graph: Graph, subsystems: Subsystems): Layout {
  const known = kept.get(graph);
  if (known !== undefined && areSame(known.subsystems, subsystems)) return known;
  return runToEnd(layOutSlices(graph, subsystems));
}

/** Makes the layout that `layOut` will return. Yields between slices. */
export function* prepareLayout(graph: Graph, subsystems: Subsystems): Generator<undefined, Layout> {
  const layout = yield* layOutSlices(graph, subsystems);
  keepLayout(layout);
  return layout;
}

const areSame = (one: Subsystems, other: Subsystems): boolean =>
  one.size === other.size &&
  one.entries().every(([name, subsystem]) => other.get(name) === subsystem);

function* layOutSlices(graph: Graph, subsystems: Subsystems): Generator<undefined, Layout> {
  const names = [...new Set(graph.kinds.map(({ type }) => type))].sort();
  const types = new Map(names.map((type, number) => [type, number]));
  const links = yield* linkSetsOf(graph, subsystems);
  const folder = new Folder(graph, types, links.setOf, links.sets.length);
  const { shapes, shapeOf, top } = yield* folder.fold();
  const mostInside = new Float64Array(types.size ** 2);
  for (const { type, inside } of shapes) {
    if (type === TOP_TYPE) continue;
    for (let inner = 0; inner < types.size; inner++) {
      const at = type * types.size + inner;
      mostInside[at] = Math.max(mostInside[at] ?? 0, inside[inner] ?? 0);
    }
  }
  const key = yield* keyOf(shapes, names, links.texts);
  return { graph, subsystems, types, shapes, shapeOf, top, linkSets: links.sets, mostInside, key };
}

interface LinkSets {
  readonly sets: readonly LinkSet[];
  /** The set of each vertex; set 0 is empty. */
  readonly setOf: Int32Array;
  /** Each set by the content of its links, not by their ids. */
  readonly texts: () => Generator<undefined, readonly unknown[]>;
}

interface Linked {
  readonly subsystem: string;
  readonly scalars: Scalars;
  readonly metadata: SubsystemVertex["metadata"];
}

function* linkSetsOf(graph: Graph, subsystems: Subsystems): Generator<undefined, LinkSets> {
  const linked: Linked[] = [];
  const own = new Map<number, number[]>();
  let count = 0;
  for (const name of [...subsystems.keys()].sort()) {
    const { vertices = [], links = new Map<number, number[]>() } = subsystems.get(name) ?? {};
    const first = linked.length;
    for (const { scalars, metadata } of vertices) {
      if (++count % SLICE === 0) yield;
      linked.push({ subsystem: name, scalars, metadata });
    }
    for (const [vertex, numbers] of links) {
      const all = own.get(vertex) ?? [];
      for (const number of numbers) all.push(first + number);
      own.set(vertex, all);
      const before = count;
      count += 1 + numbers.length;
      if (isNextSlice(before, count)) yield;
    }
  }
  const members: { readonly above: number; readonly own: readonly number[] }[] = [
    { above: -1, own: [] },
  ];
  const setOf = new Int32Array(graph.ids.length);
  const known = new Map<string, number>();
  for (let vertex = 0; vertex < setOf.length && own.size > 0; vertex++) {
    const parent = graph.parentOf[vertex] ?? NO_PARENT;
    const above = parent === NO_PARENT ? 0 : (setOf[parent] ?? 0);
    const mine = own.get(vertex)?.sort((a, b) => a - b);
    const before = count;
    count += 1 + (mine?.length ?? 0);
    if (isNextSlice(before, count)) yield;
    if (mine === undefined) {
      setOf[vertex] = above;
      continue;
    }
    const name = `${above}:${mine.join(",")}`;
    let number = known.get(name);
    if (number === undefined) known.set(name, (number = members.push({ above, own: mine }) - 1));
    setOf[vertex] = number;
  }
  const sets: LinkSet[] = [];
  for (const { above, own: numbers } of members) {
    const before = count;
    count += 1 + numbers.length;
    if (isNextSlice(before, count)) yield;
    const bySubsystem = new Map<string, Scalars[]>();
    for (const number of numbers) {
      const { subsystem = "", scalars } = linked[number] ?? {};
      const list = bySubsystem.get(subsystem) ?? [];
      if (scalars !== undefined) list.push(scalars);
      bySubsystem.set(subsystem, list);
    }
    sets.push({ above, own: bySubsystem });
  }
  return { sets, setOf, texts: () => textsOf(members, linked) };
}

const isNextSlice = (before: number, count: number): boolean =>
  Math.floor(before / SLICE) < Math.floor(count / SLICE);

/** The content of all links, each once, and its numbers for each set. */
function* textsOf(
  members: readonly { readonly above: number; readonly own: readonly number[] }[],
  linked: readonly Linked[],
): Generator<undefined, readonly unknown[]> {
  const numbers = new Map<string, number>();
  const numberOf: number[] = [];
  for (const { subsystem, metadata } of linked) {
    if (numberOf.length % limits.verticesPerSliceMax === limits.verticesPerSliceMax - 1) yield;
    const text = `${JSON.stringify(subsystem)}${canonicalJson(metadata, subsystem)}`;
    const known = numbers.get(text) ?? numbers.size;
    numbers.set(text, known);
    numberOf.push(known);
  }
  const sets = members.map(({ above, own }) => [above, ...own.map((each) => numberOf[each])]);
  return [[...numbers.keys()], sets];
}

/** Assigns shapes to vertices, leaves first. */
class Folder {
  readonly #graph: Graph;
  readonly #types: ReadonlyMap<string, number>;
  readonly #linkSetOf: Int32Array;
  readonly #linkSets: number;
  readonly #shapes: VertexShape[] = [];
  readonly #leaves = new Map<number, number>();
  readonly #others = new Map<string, number>();
  readonly #nothingInside: Float64Array;

  constructor(
    graph: Graph,
    types: ReadonlyMap<string, number>,
    linkSetOf: Int32Array,
    linkSets: number,
  ) {
    this.#graph = graph;
    this.#types = types;
    this.#linkSetOf = linkSetOf;
    this.#linkSets = linkSets;
    this.#nothingInside = new Float64Array(types.size);
  }

  *fold(): Generator<
    undefined,
    { readonly shapes: readonly VertexShape[]; readonly shapeOf: Int32Array; readonly top: number }
  > {
    const { endOf, kindOf } = this.#graph;
    const shapeOf = new Int32Array(kindOf.length);
    for (let vertex = kindOf.length - 1; vertex >= 0; vertex--) {
      if (vertex % SLICE === SLICE - 1) yield;
      const [kind, linkSet] = [kindOf[vertex] ?? 0, this.#linkSetOf[vertex] ?? 0];
      const end = endOf[vertex] ?? 0;
      shapeOf[vertex] =
        end === vertex + 1
          ? this.#leaf(kind, linkSet)
          : this.#holder(kind, linkSet, this.#childShapes(vertex + 1, end, shapeOf));
    }
    const roots = this.#childShapes(0, kindOf.length, shapeOf);
    return { shapes: this.#shapes, shapeOf, top: this.#holder(-1, 0, roots) };
  }

  #childShapes(from: number, to: number, shapeOf: Int32Array): number[] {
    const shapes: number[] = [];
    for (let child = from; child < to; child = this.#graph.endOf[child] ?? to) {
      shapes.push(shapeOf[child] ?? 0);
    }
    return shapes.sort((a, b) => a - b);
  }

  #leaf(kind: number, linkSet: number): number {
    const name = kind * this.#linkSets + linkSet;
    let number = this.#leaves.get(name);
    if (number === undefined) {
      number = this.#shapes.push({ ...this.#own(kind, linkSet), children: [], counts: [] }) - 1;
      this.#leaves.set(name, number);
    }
    return number;
  }

  #holder(kind: number, linkSet: number, sorted: readonly number[]): number {
    const children: number[] = [];
    const counts: number[] = [];
    for (const shape of sorted) {
      if (children.at(-1) === shape) counts[counts.length - 1] = (counts.at(-1) ?? 0) + 1;
      else {
        children.push(shape);
        counts.push(1);
      }
    }
    const name = `${kind} ${linkSet}:${children.join(",")}x${counts.join(",")}`;
    let number = this.#others.get(name);
    if (number !== undefined) return number;
    const inside = new Float64Array(this.#types.size);
    children.forEach((child, at) => {
      const { type = 0, size = 0, inside: inner } = this.#shapes[child] ?? {};
      const count = counts[at] ?? 0;
      inside[type] = (inside[type] ?? 0) + count * size;
      inner?.forEach((pieces, each) => (inside[each] = (inside[each] ?? 0) + count * pieces));
    });
    number = this.#shapes.push({ ...this.#own(kind, linkSet), children, counts, inside }) - 1;
    this.#others.set(name, number);
    return number;
  }

  #own(
    kind: number,
    linkSet: number,
  ): Pick<VertexShape, "type" | "size" | "unit" | "linkSet" | "inside"> {
    const { type = "", size = 1, unit = "" } = this.#graph.kinds[kind] ?? {};
    const number = this.#types.get(type) ?? TOP_TYPE;
    return { type: number, size, unit, linkSet, inside: this.#nothingInside };
  }
}

function* keyOf(
  shapes: readonly VertexShape[],
  types: readonly string[],
  linkTexts: LinkSets["texts"],
): Generator<undefined, string | undefined> {
  if (shapes.length > limits.sharedShapesMax) return undefined;
  const rows = shapes.map(({ type, size, unit, linkSet, children, counts }) =>
    [type, size, JSON.stringify(unit), linkSet, children.join(","), counts.join(",")].join(" "),
  );
  return JSON.stringify([types, rows, yield* linkTexts()]);
}
