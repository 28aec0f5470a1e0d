import { runToEnd } from "../../lib/run-to-end.ts";
import { limits } from "../../limits.ts";
import type { Graph } from "./graph.ts";
import { scalarsOf } from "./metadata.ts";
import type { Condition, ResourceChoice, ResourceRequest } from "./request/request.ts";
import type { Subsystem } from "./subsystems/subsystem.ts";
import { TextSlices } from "./text-slices.ts";
import type { Kind } from "./vertex-table.ts";

/**
 * Graphs in the format of the store: in columns, as in memory. A document of edges and vertices is
 * several times as long, and would need validation again.
 */
interface StoredGraph {
  readonly ids: readonly string[];
  readonly kinds: readonly Kind[];
  readonly kindOf: readonly number[];
  readonly parentOf: readonly number[];
  readonly endOf: readonly number[];
  readonly labels: readonly (readonly [number, string])[];
  /** Each text once; -1 in `extraOf` for none. */
  readonly extras: readonly string[];
  readonly extraOf: readonly number[];
}

/** Rows made on the thread that read the graph, until they are stored. */
const kept = new WeakMap<Graph, string>();

/** Keeps the row of a graph for the next call that encodes it. */
export function keepEncoded(graph: Graph, encoded: string): void {
  kept.set(graph, encoded);
}

export function encodeGraph(graph: Graph): string {
  const known = kept.get(graph);
  if (known !== undefined) {
    kept.delete(graph);
    return known;
  }
  const numbers = new Map<string, number>();
  const extraOf = graph.extras.map((extra) => {
    if (extra === undefined) return -1;
    const known = numbers.get(extra);
    if (known !== undefined) return known;
    numbers.set(extra, numbers.size);
    return numbers.size - 1;
  });
  const stored: StoredGraph = {
    ids: graph.ids,
    kinds: graph.kinds,
    kindOf: Array.from(graph.kindOf),
    parentOf: Array.from(graph.parentOf),
    endOf: Array.from(graph.endOf),
    labels: [...graph.labels],
    extras: [...numbers.keys()],
    extraOf,
  };
  return JSON.stringify(stored);
}

export function decodeGraph(text: string): Graph {
  const stored = JSON.parse(text) as StoredGraph;
  return {
    ids: stored.ids,
    kinds: stored.kinds,
    kindOf: Int32Array.from(stored.kindOf),
    parentOf: Int32Array.from(stored.parentOf),
    endOf: Int32Array.from(stored.endOf),
    labels: new Map(stored.labels),
    extras: stored.extraOf.map((number) => stored.extras[number]),
  };
}

type StoredVertex = readonly [
  id: string,
  label: string,
  metadata: Readonly<Record<string, unknown>>,
];

interface StoredSubsystem {
  readonly name: string;
  readonly vertices: readonly StoredVertex[];
  readonly links: readonly (readonly [number, readonly number[]])[];
  readonly inner: readonly (readonly [number, number])[];
}

/** The same for subsystems. */
const keptSubsystems = new WeakMap<Subsystem, string>();

export function encodeSubsystem(subsystem: Subsystem): string {
  if (!keptSubsystems.has(subsystem)) runToEnd(prepareSubsystemRow(subsystem));
  const known = keptSubsystems.get(subsystem) ?? "";
  keptSubsystems.delete(subsystem);
  return known;
}

/** Makes the row in advance. Yields between slices: it may have many megabytes. */
export function* prepareSubsystemRow(subsystem: Subsystem): Generator<undefined, void> {
  const { name, vertices, links, inner } = subsystem;
  const [nodes, edges, own] = [new TextSlices(), new TextSlices(), new TextSlices()];
  for (const { id, label, metadata } of vertices) {
    if (nodes.isSliceFull) yield;
    nodes.add(JSON.stringify([id, label, metadata] satisfies StoredVertex));
  }
  let numbers = 0;
  for (const link of links) {
    numbers += link[1].length;
    if (edges.isSliceFull || numbers > limits.linksPerSliceMax) {
      yield;
      numbers = 0;
    }
    edges.add(JSON.stringify(link));
  }
  for (const pair of inner) {
    if (own.isSliceFull) yield;
    own.add(JSON.stringify(pair));
  }
  const row =
    `{"name":${JSON.stringify(name)},"vertices":[${nodes.end()}],` +
    `"links":[${edges.end()}],"inner":[${own.end()}]}`;
  keptSubsystems.set(subsystem, row);
}

export function decodeSubsystem(text: string): Subsystem {
  const { name, vertices, links, inner } = JSON.parse(text) as StoredSubsystem;
  return {
    name,
    vertices: vertices.map(([id, label, metadata]) => ({
      id,
      label,
      metadata,
      scalars: scalarsOf(metadata),
    })),
    links: new Map(links),
    inner,
  };
}

/** JSON leaves out undefined. Restored, so that equal requests compare as equal. */
export const decodeChoice = (stored: ResourceChoice): ResourceChoice =>
  stored.map((trees) => trees.map(decodeTree));

const decodeTree = (tree: ResourceRequest): ResourceRequest => ({
  ...tree,
  unit: tree.unit,
  label: tree.label,
  requires: tree.requires.map(({ subsystem, conditions }) => ({
    subsystem,
    conditions: conditions.map(decodeCondition),
  })),
  with: tree.with.map(decodeTree),
});

function decodeCondition(condition: Condition): Condition {
  switch (condition.kind) {
    case "version":
      return { ...condition, min: condition.min, max: condition.max };
    case "number":
      return { ...condition, unit: condition.unit };
    case "present":
    case "one-of":
      return condition;
  }
}
