import { invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { runToEnd } from "../../../lib/run-to-end.ts";
import type { Graph } from "../graph.ts";
import { linkSubsystem } from "./link-subsystem.ts";
import { isRecord, type Scalar } from "../metadata.ts";
import { checkSubsystemName, type Subsystem } from "./subsystem.ts";
import { readSubsystemDraft, type SubsystemDraft } from "./subsystem-draft.ts";
import { mustBe, quote } from "../vertex-table.ts";

export const isCompatibilitySpec = (document: unknown): boolean =>
  isRecord(document) && document["kind"] === "CompatibilitySpec";

/** A subsystem whose document names it. */
export interface NamedDraft {
  readonly name: string;
  readonly draft: SubsystemDraft;
}

/** The same, linked to a graph. */
export const parseCompatibilitySpec = (document: unknown, graph: Graph): readonly Subsystem[] =>
  readCompatibilitySpec(document).map(({ name, draft }) =>
    runToEnd(linkSubsystem(name, draft, graph)),
  );

/**
 * Reads compspec's compatibility artifact as subsystems of a cluster, one for each name, whose
 * entries hold for every node. Each attribute is an entry of type "key=value", as in the subsystems
 * that compspec makes; all attributes of a name are also the fields of one entry, so that requests
 * can name ranges of versions.
 */
export function readCompatibilitySpec(document: unknown): readonly NamedDraft[] {
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
  const attributesByName = new Map<string, Readonly<Record<string, Scalar>>>();
  for (const [at, item] of (compatibilities as readonly unknown[]).entries()) {
    const { name, attributes } = readCompatibility(item, `compatibilities[${at}]`);
    attributesByName.set(name, { ...attributesByName.get(name), ...attributes });
  }
  return [...attributesByName].map(([name, attributes]) => {
    checkSubsystemName(name);
    const draft = readSubsystemDraft(documentOf(name, attributes));
    return { name, draft: { ...draft, links: { kind: "all-nodes" } } };
  });
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

/** Numbered as by compspec: the root is "os0", and its type is the name. */
function documentOf(name: string, attributes: Readonly<Record<string, Scalar>>): unknown {
  const { size: _size, unit: _unit, type: _type, ...fields } = attributes;
  const metadata = [
    { type: name, ...fields },
    ...Object.entries(attributes).map(([key, value]) => ({ type: `${key}=${value}` })),
  ];
  const idOf = (at: number): string => `${name}${at}`;
  const vertices = metadata.map((own, at) => [idOf(at), { label: idOf(at), metadata: own }]);
  return { graph: { nodes: Object.fromEntries(vertices) as unknown } };
}
