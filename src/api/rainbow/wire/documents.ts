import { parseBoundedJson } from "../../../lib/bytes/json-size.ts";
import { limits } from "../../../limits.ts";
import { isRecord } from "../../../core/graph/metadata.ts";
import { refuse } from "../status.ts";

/**
 * A graph from rainbow's clients, parsed, and rejected where rainbow rejects it with its own message. Later steps find and report all other
 * problems.
 */
export function readNodes(text: string): unknown {
  const document = parse(text, (why) => refuse.badNodes(why));
  const graph = isRecord(document) ? document["graph"] : undefined;
  const { nodes, edges } = isRecord(graph) ? graph : {};
  if (sizeOf(nodes) === 0 || sizeOf(edges) === 0) throw refuse.emptyGraph();
  return document;
}

/** The edges of a cluster's own graph must name vertices of it. */
export function readClusterNodes(text: string): unknown {
  const document = readNodes(text) as { readonly graph: Readonly<Record<string, unknown>> };
  const { nodes, edges } = document.graph;
  if (!isRecord(nodes) || !Array.isArray(edges)) return document;
  for (const edge of edges as unknown[]) {
    if (!isRecord(edge) || edge["relation"] !== "contains") continue;
    for (const [end, said] of ENDS) {
      const id = edge[end];
      if (typeof id !== "string" || Object.hasOwn(nodes, id)) continue;
      throw refuse.edgeWithout(said, typeof edge["label"] === "string" ? edge["label"] : id);
    }
  }
  return document;
}

const ENDS = [
  ["target", "destination"],
  ["source", "source"],
] as const;

/** Later checks reject values of another form. */
const sizeOf = (value: unknown): number => {
  if (Array.isArray(value)) return value.length;
  if (isRecord(value)) return Object.keys(value).length;
  return value === undefined || value === null ? 0 : 1;
};

/** The graph of a cluster that is registered by name alone. */
export const nameAlone = (): unknown => ({
  graph: { nodes: { "0": { label: "0", metadata: { type: "cluster" } } }, edges: [] },
});

/**
 * The state that a cluster sends. The client in Python encodes the text of a file once more, as a JSON
 * string: this decodes both. Rules cannot use nested values, which are stored as their text.
 * Undefined: no state.
 */
export function readState(text: string): Readonly<Record<string, unknown>> | undefined {
  const payload = parse(text, (why) => refuse.notAState(`(${why})`));
  const value =
    typeof payload === "string" ? parse(payload, () => refuse.notAState("string")) : payload;
  if (value === null) return undefined;
  if (!isRecord(value)) throw refuse.notAState(kindOf(value));
  const entries = Object.entries(value).map(([key, each]): [string, unknown] => [
    key,
    typeof each === "object" && each !== null ? JSON.stringify(each) : each,
  ]);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

const kindOf = (value: unknown): string => {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
};

function parse(text: string, toError: (why: string) => Error): unknown {
  try {
    return parseBoundedJson(text, limits);
  } catch (error) {
    throw toError(error instanceof Error ? error.message : "unreadable");
  }
}
