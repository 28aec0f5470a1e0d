import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { type Graph, vertexOf } from "./graph.ts";
import { isRecord, type Scalar } from "./metadata.ts";
import { parseSubsystem, type Subsystem } from "./subsystem.ts";
import { mustBe, quote } from "./vertex-table.ts";

export const isCompatibilitySpec = (document: unknown): boolean =>
  isRecord(document) && document["kind"] === "CompatibilitySpec";

/**
 * Reads compspec's compatibility artifact as subsystems of a cluster, one for each name, whose
 * entries hold for every node of `graph`. Each attribute is an entry of type "key=value", as the
 * subsystems that compspec makes have them; and all attributes of a name are the fields of one entry,
 * so that ranges of versions can be asked for.
 */
export function parseCompatibilitySpec(document: unknown, graph: Graph): readonly Subsystem[] {
  if (!isRecord(document)) throw invalid("document", mustBe("an object", document));
  const { kind, compatibilities } = document;
  if (kind !== "CompatibilitySpec") {
    throw invalid("kind", `must be "CompatibilitySpec", not ${quote(String(kind))}`);
  }
  if (!Array.isArray(compatibilities)) {
    throw invalid("compatibilities", mustBe("a list", compatibilities));
  }
  if (compatibilities.length > limits.subsystemsMax) {
    throw invalid("compatibilities", `at most ${limits.subsystemsMax}`);
  }
  const nodes = nodesOf(graph);
  const attributesByName = new Map<string, Readonly<Record<string, Scalar>>>();
  for (const [at, item] of (compatibilities as readonly unknown[]).entries()) {
    const { name, attributes } = readCompatibility(item, `compatibilities[${at}]`);
    attributesByName.set(name, { ...attributesByName.get(name), ...attributes });
  }
  return [...attributesByName].map(([name, attributes]) =>
    parseSubsystem(name, documentOf(name, attributes, nodes), graph),
  );
}

/** Where nothing is called a node the roots stand for all that is inside them. */
function nodesOf(graph: Graph): readonly string[] {
  const isNode = (_: string, at: number): boolean =>
    graph.kinds[graph.kindOf[at] ?? -1]?.type === "node";
  const nodes = graph.ids.filter(isNode);
  if (nodes.length > 0) return nodes;
  return graph.ids.filter((_, at) => vertexOf(graph, at).inside === undefined);
}

function readCompatibility(
  item: unknown,
  field: string,
): { readonly name: string; readonly attributes: Readonly<Record<string, Scalar>> } {
  if (!isRecord(item)) throw invalid(field, mustBe("an object", item));
  const { name, attributes = {} } = item;
  if (typeof name !== "string") throw invalid(`${field}.name`, mustBe("a text", name));
  if (!isRecord(attributes)) throw invalid(`${field}.attributes`, mustBe("an object", attributes));
  const own = new Map<string, Scalar>();
  for (const [key, value] of Object.entries(attributes)) {
    const isScalar = ["string", "number", "boolean"].includes(typeof value);
    if (!isScalar) {
      throw invalid(`${field}.attributes.${key}`, mustBe("a text, a number or a boolean", value));
    }
    own.set(key, value as Scalar);
  }
  return { name, attributes: Object.fromEntries(own) };
}

/** Numbered as compspec does: the root is "os0", of the type of its name. */
function documentOf(
  name: string,
  attributes: Readonly<Record<string, Scalar>>,
  nodes: readonly string[],
): unknown {
  const { size: _size, unit: _unit, type: _type, ...fields } = attributes;
  const metadata = [
    { type: name, ...fields },
    ...Object.entries(attributes).map(([key, value]) => ({ type: `${key}=${value}` })),
  ];
  const idOf = (at: number): string => `${name}${at}`;
  const vertices = metadata.map((own, at) => [idOf(at), { label: idOf(at), metadata: own }]);
  const edges = nodes.flatMap((source) =>
    metadata.map((_, at) => ({ source, target: idOf(at), relation: "contains" })),
  );
  return { graph: { nodes: Object.fromEntries(vertices) as unknown, edges } };
}
