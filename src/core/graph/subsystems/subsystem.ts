import { invalid } from "../../../lib/errors.ts";
import { runToEnd } from "../../../lib/run-to-end.ts";
import type { Rule } from "../../../lib/rules/rules.ts";
import { limits } from "../../../limits.ts";
import { checkText, CONTROL_SET, isKey } from "../../model/texts.ts";
import type { Graph } from "../graph.ts";
import type { Edge, JgfDocument } from "../jgf.ts";
import { linkSubsystem } from "./link-subsystem.ts";
import type { Scalars } from "../request/requirement.ts";
import { readSubsystemDraft } from "./subsystem-draft.ts";
import { TextSlices } from "../text-slices.ts";
import { quote } from "../vertex-table.ts";

/**
 * Resources of a cluster beside its containment graph: software, file systems, operating systems. A
 * graph of its own whose vertices are linked to vertices of the cluster's graph. Vertices are
 * sorted by id.
 */
export interface Subsystem {
  readonly name: string;
  readonly vertices: readonly SubsystemVertex[];
  /** The indexes in `vertices` that are linked to a vertex of the cluster's graph, sorted. */
  readonly links: ReadonlyMap<number, readonly number[]>;
  /** Edges between its own vertices: stored, never searched. */
  readonly inner: readonly (readonly [number, number])[];
}

export interface SubsystemVertex {
  readonly id: string;
  readonly label: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly scalars: Scalars;
}

/** The name of the containment graph itself, in APIs that treat it as a subsystem. */
export const DOMINANT = "cluster";

export const SUBSYSTEM_NAME_RULE = {
  minLength: 1,
  maxLength: limits.nameLengthMax,
  pattern: `^(?!(${DOMINANT}|__proto__)$)[^${CONTROL_SET}]+$`,
} as const satisfies Rule;

export function checkSubsystemName(name: string): void {
  checkText(name, "subsystem", limits.nameLengthMax);
  if (!isKey(name))
    throw invalid("subsystem", `${quote(name)} is not a name of a subsystem, like software`);
  if (name === DOMINANT) throw invalid("subsystem", `"${name}" is the graph of the cluster itself`);
}

/** Reads a subsystem of the cluster whose graph is `graph`. */
export function parseSubsystem(name: string, document: unknown, graph: Graph): Subsystem {
  checkSubsystemName(name);
  return runToEnd(linkSubsystem(name, readSubsystemDraft(document), graph));
}

/**
 * The canonical document: `parseSubsystem` with the same graph reads it back as the same subsystem.
 */
export function toSubsystemJgf({ vertices, links, inner }: Subsystem, graph: Graph): JgfDocument {
  const id = (number: number): string => vertices[number]?.id ?? "";
  const edges: Edge[] = [];
  for (const [vertex, own] of [...links].sort(([a], [b]) => a - b)) {
    for (const to of own) {
      edges.push({ source: graph.ids[vertex] ?? "", target: id(to), relation: "contains" });
    }
  }
  for (const [from, to] of inner) {
    edges.push({ source: id(from), target: id(to), relation: "contains" });
  }
  const nodes = vertices.map(({ id, label, metadata }) => [id, { label, metadata }] as const);
  return { graph: { directed: true, nodes: Object.fromEntries(nodes), edges } };
}

/** The text of `toSubsystemJgf`. Yields between slices. */
export function* renderSubsystemJgf(
  { vertices, links, inner }: Subsystem,
  graph: Graph,
): Generator<undefined, string> {
  const id = (number: number): string => vertices[number]?.id ?? "";
  const nodes = new TextSlices();
  for (const { id: own, label, metadata } of vertices) {
    if (nodes.isSliceFull) yield;
    nodes.add(`${JSON.stringify(own)}:${JSON.stringify({ label, metadata })}`);
  }
  const edges = new TextSlices();
  const edge = (source: string, target: string): void =>
    edges.add(JSON.stringify({ source, target, relation: "contains" }));
  for (const vertex of Int32Array.from(links.keys()).sort()) {
    for (const to of links.get(vertex) ?? []) {
      if (edges.isSliceFull) yield;
      edge(graph.ids[vertex] ?? "", id(to));
    }
  }
  for (const [from, to] of inner) {
    if (edges.isSliceFull) yield;
    edge(id(from), id(to));
  }
  return `{"graph":{"directed":true,"nodes":{${nodes.end()}},"edges":[${edges.end()}]}}`;
}
