import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { checkText, isKey } from "../model/texts.ts";
import { byId, type Graph, vertexNumber } from "./graph.ts";
import { type Edge, graphOf, type JgfDocument, readEdge } from "./jgf.ts";
import { scalarsOf } from "./metadata.ts";
import type { Scalars } from "./requirement.ts";
import { metadataOf, quote, readVertices, type VertexTableBuilder } from "./vertex-table.ts";

/**
 * What a cluster has beside its containment graph: software, file systems, operating systems. A
 * graph of its own whose vertices are linked to vertices of the cluster's. Vertices stand by id.
 */
export interface Subsystem {
  readonly name: string;
  readonly vertices: readonly SubsystemVertex[];
  /** Which of `vertices` are linked to a vertex of the cluster's graph, in order. */
  readonly links: ReadonlyMap<number, readonly number[]>;
  /** Links between its own vertices: kept, never searched. */
  readonly inner: readonly (readonly [number, number])[];
}

export interface SubsystemVertex {
  readonly id: string;
  readonly label: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly scalars: Scalars;
}

/** The name of the containment graph itself, where clients speak of it as a subsystem. */
export const DOMINANT = "cluster";

/** Reads a subsystem of the cluster whose graph is `graph`. */
export function parseSubsystem(name: string, document: unknown, graph: Graph): Subsystem {
  checkText(name, "subsystem", limits.nameLengthMax);
  if (!isKey(name)) throw invalid("subsystem", `${quote(name)} is no name of a subsystem`);
  if (name === DOMINANT) throw invalid("subsystem", `"${name}" is the graph of the cluster itself`);
  const { nodes, edges } = graphOf(document);
  const builder = readVertices(nodes, limits.graphVerticesMax);
  const ids = builder.table.ids;
  for (const id of ids) {
    if (vertexNumber(graph, id) !== undefined) {
      // A link that names it could mean either.
      throw invalid(`graph.nodes.${id}`, "the cluster's graph has a vertex of the same id");
    }
  }
  const { links, inner } = readLinks(edges, builder, graph);
  const order = ids.map((_, number) => number).sort(byId(ids));
  const place = new Int32Array(ids.length);
  order.forEach((old, at) => (place[old] = at));
  const placed = (number: number): number => place[number] ?? 0;
  return {
    name,
    vertices: order.map((old) => vertexAt(builder, old)),
    links: new Map(
      [...links].map(([vertex, own]) => [vertex, [...own].map(placed).sort((a, b) => a - b)]),
    ),
    inner: inner
      .map(([from, to]) => [placed(from), placed(to)] as const)
      .sort(([a, b], [c, d]) => a - c || b - d),
  };
}

function vertexAt({ table }: VertexTableBuilder, number: number): SubsystemVertex {
  const id = table.ids[number] ?? "";
  const metadata = metadataOf(table, number);
  const label = table.labels.get(number) ?? id;
  return { id, label, metadata, scalars: scalarsOf(metadata) };
}

interface Links {
  readonly links: ReadonlyMap<number, ReadonlySet<number>>;
  readonly inner: readonly (readonly [number, number])[];
}

/**
 * "contains" from the cluster's graph into the subsystem is a link. "in" is written beside it by
 * custom and is not a link of its own; the templates that are in circulation get its end wrong
 * ("5" contains x, x is in "6"), so it is only asked to name vertices that exist. For the same
 * reason a "contains" between two vertices of the cluster's graph is passed over: it can only
 * repeat, or mistake, what that graph says itself, and changes nothing in it.
 */
function readLinks(edges: readonly unknown[], own: VertexTableBuilder, graph: Graph): Links {
  const links = new Map<number, Set<number>>();
  const inner = new Map<string, readonly [number, number]>();
  for (let at = 0; at < edges.length; at++) {
    const { source, target, relation } = readEdge(edges[at], at);
    if (relation !== "contains" && relation !== "in") continue;
    const [from, to] = [own.numberOf.get(source), own.numberOf.get(target)];
    const [outer, outerTo] = [vertexNumber(graph, source), vertexNumber(graph, target)];
    for (const [end, id, known] of [
      ["source", source, from ?? outer],
      ["target", target, to ?? outerTo],
    ] as const) {
      if (known !== undefined) continue;
      const text = `neither the subsystem nor the cluster's graph has a vertex ${quote(id)}`;
      throw invalid(`graph.edges[${at}].${end}`, text);
    }
    if (relation === "in") continue;
    if (from !== undefined && to !== undefined) {
      if (from === to) {
        throw invalid(`graph.edges[${at}]`, `${quote(source)} cannot contain itself`);
      }
      inner.set(`${from} ${to}`, [from, to]);
    } else if (outer !== undefined && to !== undefined) {
      const known = links.get(outer);
      if (known === undefined) links.set(outer, new Set([to]));
      else known.add(to);
    } else if (from !== undefined) {
      const text = `goes from the subsystem to ${quote(target)} of the cluster: write it the other way`;
      throw invalid(`graph.edges[${at}]`, text);
    }
  }
  return { links, inner: [...inner.values()] };
}

/** The canonical document: `parseSubsystem` with the same graph reads it back as the same. */
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
