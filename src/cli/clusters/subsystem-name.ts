import { type AppError, invalid } from "../../lib/errors.ts";

/**
 * The name in a subsystem's document: the type of its root, the only vertex that no other contains ("io0" of type io, in documents that
 * compspec writes). The server checks the rest of the document.
 */
export function subsystemNameOf(content: string, file: string): string {
  const { nodes, edges } = partsOf(content, file);
  const contained = new Set(
    edges.filter((edge) => edge["relation"] === "contains").map((edge) => edge["target"]),
  );
  const roots = nodes.filter(([id]) => !contained.has(id));
  const type = recordOf(recordOf(roots[0]?.[1])["metadata"])["type"];
  if (roots.length !== 1) throw unnamed(`${file} has ${roots.length} roots`);
  if (typeof type !== "string" || type === "") throw unnamed(`the root of ${file} has no type`);
  return type;
}

const unnamed = (why: string): AppError => invalid("--name", `is missing, and ${why}`);

type Fields = Readonly<Record<string, unknown>>;

function partsOf(content: string, file: string): { nodes: [unknown, unknown][]; edges: Fields[] } {
  let document: unknown;
  try {
    document = JSON.parse(content);
  } catch (error) {
    throw invalid(file, `is not JSON: ${error instanceof Error ? error.message : "unreadable"}`);
  }
  const { nodes, edges } = recordOf(recordOf(document)["graph"]);
  return {
    nodes: Array.isArray(nodes)
      ? nodes.map((vertex: unknown) => [recordOf(vertex)["id"], vertex])
      : Object.entries(recordOf(nodes)),
    edges: Array.isArray(edges) ? edges.map(recordOf) : [],
  };
}

const recordOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};
