import { parseBoundedJson } from "../../lib/bytes/json-size.ts";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { arrange, type Graph, NO_PARENT, vertexOf } from "./graph.ts";
import { isRecord } from "./metadata.ts";
import { mustBe, quote, readVertices } from "./vertex-table.ts";

/**
 * Reads the containment graph of a cluster from a JSON Graph Format document (version 2).
 * "contains" edges build it. An "in" edge is the reverse of a "contains" edge: it adds nothing, and
 * must not contradict. Other relations are ignored.
 */
export function parseGraph(document: unknown): Graph {
  const { nodes, edges } = graphOf(document);
  const { table, numberOf } = readVertices(nodes, limits.graphTypesMax);
  const parentOf = new Int32Array(table.ids.length).fill(NO_PARENT);
  const vertex = (id: string, at: number, end: "source" | "target"): number => {
    const number = numberOf.get(id);
    if (number === undefined) {
      throw invalid(`graph.edges[${at}].${end}`, `there is no vertex ${quote(id)}`);
    }
    return number;
  };
  const inverse: number[] = [];
  for (let at = 0; at < edges.length; at++) {
    const { source, target, relation } = readEdge(edges[at], at);
    if (relation === "in") inverse.push(at);
    if (relation !== "contains") continue;
    const [parent, child] = [vertex(source, at, "source"), vertex(target, at, "target")];
    if (parent === child) {
      throw invalid(`graph.edges[${at}]`, `${quote(source)} cannot contain itself`);
    }
    const other = parentOf[child] ?? NO_PARENT;
    if (other !== NO_PARENT && other !== parent) {
      const both = `${quote(table.ids[other] ?? "")} and ${quote(source)}`;
      throw invalid(`graph.edges[${at}].target`, `${quote(target)} would be in both ${both}`);
    }
    parentOf[child] = parent;
  }
  for (const at of inverse) {
    const { source, target } = readEdge(edges[at], at);
    const [child, parent] = [vertex(source, at, "source"), vertex(target, at, "target")];
    const real = parentOf[child] ?? NO_PARENT;
    if (real === parent) continue;
    const holder = real === NO_PARENT ? "nothing" : quote(table.ids[real] ?? "");
    const text = `says that ${quote(source)} is in ${quote(target)}, but ${holder} contains it`;
    throw invalid(`graph.edges[${at}]`, text);
  }
  return arrange(table, parentOf);
}

/** The same from JSON text. */
export const parseGraphText = (text: string): Graph => parseGraph(parseJson(text));

export function parseJson(text: string): unknown {
  try {
    return parseBoundedJson(text, { jsonDepthMax: limits.jsonDepthMax }); // long ones in threads of their own
  } catch (cause) {
    throw invalid("graph", `is not JSON: ${cause instanceof Error ? cause.message : "unreadable"}`);
  }
}

/** The vertices and edges of a document, after a check of their counts. */
export function graphOf(document: unknown): { nodes: unknown; edges: readonly unknown[] } {
  if (!isRecord(document)) throw invalid("graph", `the document ${mustBe("an object", document)}`);
  const graph = document["graph"];
  if (!isRecord(graph)) {
    const hint = document["graphs"] === undefined ? "" : "; of several graphs send one at a time";
    throw invalid("graph", `${mustBe("an object", graph)}${hint}`);
  }
  const { nodes, edges = [] } = graph;
  if (!Array.isArray(edges)) throw invalid("graph.edges", mustBe("a list", edges));
  if (edges.length > limits.graphEdgesMax) {
    const text = `at most ${limits.graphEdgesMax} edges, not ${edges.length}`;
    throw invalid("graph.edges", text);
  }
  return { nodes, edges: edges as readonly unknown[] };
}

export interface Edge {
  readonly source: string;
  readonly target: string;
  readonly relation: string | undefined;
}

export function readEdge(edge: unknown, at: number): Edge {
  if (!isRecord(edge)) throw invalid(`graph.edges[${at}]`, mustBe("an object", edge));
  const { source, target, relation } = edge;
  if (typeof source !== "string") {
    throw invalid(`graph.edges[${at}].source`, mustBe("a text", source));
  }
  if (typeof target !== "string") {
    throw invalid(`graph.edges[${at}].target`, mustBe("a text", target));
  }
  if (relation !== undefined && relation !== null && typeof relation !== "string") {
    throw invalid(`graph.edges[${at}].relation`, mustBe("a text", relation));
  }
  return { source, target, relation: relation ?? undefined };
}

export interface JgfDocument {
  readonly graph: {
    readonly directed: true;
    readonly nodes: Readonly<Record<string, JgfVertex>>;
    readonly edges: readonly Edge[];
  };
}

export interface JgfVertex {
  readonly label: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The canonical document of a graph: `parseGraph` reads it back as the same graph. */
export function toJgf(graph: Graph): JgfDocument {
  const nodes: [string, JgfVertex][] = [];
  const edges: Edge[] = [];
  for (let number = 0; number < graph.ids.length; number++) {
    const { id, label, metadata, inside } = vertexOf(graph, number);
    nodes.push([id, { label, metadata }]);
    if (inside !== undefined) edges.push({ source: inside, target: id, relation: "contains" });
  }
  return { graph: { directed: true, nodes: Object.fromEntries(nodes), edges } };
}

/** The text of `toJgf`. Yields between slices of vertices: a million take seconds. */
export function* renderJgf(graph: Graph): Generator<undefined, string> {
  const nodes: string[] = [];
  const edges: string[] = [];
  for (let from = 0; from < graph.ids.length; from += limits.verticesPerSliceMax) {
    if (from > 0) yield;
    const slice = renderSlice(graph, from);
    nodes.push(slice.nodes.join(","));
    if (slice.edges.length > 0) edges.push(slice.edges.join(","));
  }
  return `{"graph":{"directed":true,"nodes":{${nodes.join(",")}},"edges":[${edges.join(",")}]}}`;
}

function renderSlice(graph: Graph, from: number): { nodes: string[]; edges: string[] } {
  const [nodes, edges]: [string[], string[]] = [[], []];
  const end = Math.min(graph.ids.length, from + limits.verticesPerSliceMax);
  for (let number = from; number < end; number++) {
    const { id, label, metadata, inside } = vertexOf(graph, number);
    nodes.push(`${JSON.stringify(id)}:${JSON.stringify({ label, metadata })}`);
    if (inside === undefined) continue;
    edges.push(JSON.stringify({ source: inside, target: id, relation: "contains" }));
  }
  return { nodes, edges };
}
