import { invalid } from "../../lib/errors.ts";
import { runToEnd } from "../../lib/run-to-end.ts";
import { limits } from "../../limits.ts";
import { SLICE } from "./joined-texts.ts";
import { type Kind, metadataOf, shorten, type VertexTable } from "./vertex-table.ts";

/**
 * The resources of a cluster: trees of vertices, each inside its parent. Stored in columns, because
 * 10,000 nodes with 64 cores each have more than half a million vertices.
 *
 * Vertices have one order: parents before their children, siblings by id. So a vertex and its
 * descendants are one range, and no result depends on the order in which a document was written.
 */
export interface Graph {
  readonly ids: readonly string[];
  readonly kinds: readonly Kind[];
  readonly kindOf: Int32Array;
  /** -1 for a root. */
  readonly parentOf: Int32Array;
  /** One past the last descendant. */
  readonly endOf: Int32Array;
  readonly labels: ReadonlyMap<number, string>;
  readonly extras: readonly (string | undefined)[];
}

export const NO_PARENT = -1;

/** Puts vertices into their order. Throws when the parents do not form trees. */
export function arrange(table: VertexTable, parentOf: Int32Array): Graph {
  const count = table.ids.length;
  const order = inOrder(table.ids, parentOf);
  if (order.length < count) throw invalid("graph.edges", describeCycle(table.ids, parentOf, order));

  const newNumber = new Int32Array(count);
  for (let at = 0; at < count; at++) newNumber[order[at] ?? 0] = at;
  const graph = {
    ids: Array.from(order, (old) => table.ids[old] ?? ""),
    kinds: table.kinds,
    kindOf: Int32Array.from(order, (old) => table.kindOf[old] ?? 0),
    parentOf: new Int32Array(count),
    endOf: new Int32Array(count),
    labels: new Map<number, string>(),
    extras: Array.from(order, (old) => table.extras[old]),
  };
  for (let at = 0; at < count; at++) {
    const parent = parentOf[order[at] ?? 0] ?? NO_PARENT;
    graph.parentOf[at] = parent === NO_PARENT ? NO_PARENT : (newNumber[parent] ?? 0);
    graph.endOf[at] = at + 1;
  }
  for (let at = count - 1; at >= 0; at--) {
    const parent = graph.parentOf[at] ?? NO_PARENT;
    const end = graph.endOf[at] ?? 0;
    if (parent !== NO_PARENT && end > (graph.endOf[parent] ?? 0)) graph.endOf[parent] = end;
  }
  for (const [old, label] of table.labels) graph.labels.set(newNumber[old] ?? 0, label);
  return graph;
}

/** Old numbers in the new order, without vertices on or below a cycle. */
function inOrder(ids: readonly string[], parentOf: Int32Array): Int32Array {
  const count = ids.length;
  const { start, children } = childrenOf(ids, parentOf);
  const order = new Int32Array(count);
  let placed = 0;
  // The path of open vertices from a root down: the index in `children` of the next child of each.
  const next: number[] = [start[count] ?? 0];
  const last: number[] = [children.length];
  while (next.length > 0) {
    const top = next.length - 1;
    const at = next[top] ?? 0;
    if (at >= (last[top] ?? 0)) {
      next.pop();
      last.pop();
      continue;
    }
    next[top] = at + 1;
    const vertex = children[at] ?? 0;
    if (next.length > limits.graphDepthMax) {
      const id = shorten(ids[vertex] ?? "");
      throw invalid(`graph.nodes.${id}`, `is more than ${limits.graphDepthMax} levels deep`);
    }
    order[placed++] = vertex;
    next.push(start[vertex] ?? 0);
    last.push(start[vertex + 1] ?? 0);
  }
  return order.subarray(0, placed);
}

interface Children {
  /** Where the children of each vertex begin; roots are the children of vertex number `count`. */
  readonly start: Int32Array;
  readonly children: Int32Array;
}

function childrenOf(ids: readonly string[], parentOf: Int32Array): Children {
  const count = ids.length;
  const start = new Int32Array(count + 2);
  const holderOf = (vertex: number): number => {
    const parent = parentOf[vertex] ?? NO_PARENT;
    return parent === NO_PARENT ? count : parent;
  };
  for (let vertex = 0; vertex < count; vertex++) {
    const after = holderOf(vertex) + 1;
    start[after] = (start[after] ?? 0) + 1;
  }
  for (let at = 0; at <= count; at++) start[at + 1] = (start[at + 1] ?? 0) + (start[at] ?? 0);
  const free = start.slice();
  const children = new Int32Array(count);
  for (let vertex = 0; vertex < count; vertex++) {
    const holder = holderOf(vertex);
    const at = free[holder] ?? 0;
    children[at] = vertex;
    free[holder] = at + 1;
  }
  const compare = byId(ids);
  for (let holder = 0; holder <= count; holder++) {
    const [from, to] = [start[holder] ?? 0, start[holder + 1] ?? 0];
    if (to - from > 1) children.subarray(from, to).sort(compare);
  }
  return { start, children };
}

/** Whole numbers first, by value; then other texts, by their characters. */
export function byId(ids: readonly string[]): (one: number, other: number) => number {
  const values = Float64Array.from(ids, (id) => (/^(?:0|[1-9]\d{0,14})$/.test(id) ? +id : NaN));
  return (one, other) => {
    const [a, b] = [values[one] ?? NaN, values[other] ?? NaN];
    if (a === a && b === b) return a - b;
    if (a === a || b === b) return a === a ? -1 : 1;
    const [first, second] = [ids[one] ?? "", ids[other] ?? ""];
    return first < second ? -1 : first > second ? 1 : 0;
  };
}

function describeCycle(ids: readonly string[], parentOf: Int32Array, placed: Int32Array): string {
  const isPlaced = new Uint8Array(ids.length);
  for (const vertex of placed) isPlaced[vertex] = 1;
  let at = isPlaced.indexOf(0);
  const seen = new Set<number>();
  while (!seen.has(at)) {
    seen.add(at);
    at = parentOf[at] ?? 0;
  }
  const cycle = [at];
  for (let up = parentOf[at] ?? 0; up !== at && cycle.length < 10; up = parentOf[up] ?? 0) {
    cycle.push(up);
  }
  const names = [...cycle, at].reverse().map((vertex) => shorten(ids[vertex] ?? ""));
  return `a vertex cannot contain itself: ${names.join(" > ")}`;
}

const numbersByGraph = new WeakMap<Graph, Map<string, number>>();

/** The vertex with this id, or undefined. */
export function vertexNumber(graph: Graph, id: string): number | undefined {
  const known = numbersByGraph.get(graph);
  if (known !== undefined) return known.get(id);
  runToEnd(indexIds(graph));
  return numbersByGraph.get(graph)?.get(id);
}

/** Builds the index that `vertexNumber` uses, if it is missing. Yields between slices. */
export function* indexIds(graph: Graph): Generator<undefined, void> {
  if (numbersByGraph.has(graph)) return;
  const numbers = new Map<string, number>();
  for (let at = 0; at < graph.ids.length; at++) {
    if (at % SLICE === SLICE - 1) yield;
    numbers.set(graph.ids[at] ?? "", at);
  }
  numbersByGraph.set(graph, numbers);
}

export interface Vertex {
  readonly id: string;
  readonly label: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The id of the parent; undefined for a root. */
  readonly inside: string | undefined;
}

export function vertexOf(graph: Graph, number: number): Vertex {
  const id = graph.ids[number] ?? "";
  return {
    id,
    label: graph.labels.get(number) ?? id,
    metadata: metadataOf(graph, number),
    inside: graph.ids[graph.parentOf[number] ?? NO_PARENT],
  };
}

/** The number of pieces of each type, for display. */
export function countsByType(graph: Graph): Record<string, number> {
  const counts = new Map<string, number>();
  for (const kind of graph.kindOf) {
    const { type = "", size = 0 } = graph.kinds[kind] ?? {};
    counts.set(type, (counts.get(type) ?? 0) + size);
  }
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}
