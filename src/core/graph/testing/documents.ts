/** A tree as a test writes it; `links` are ids of a subsystem's vertices by its name. */
export interface Branch {
  readonly type: string;
  readonly id?: string;
  readonly size?: number;
  readonly unit?: string;
  readonly inside?: readonly Branch[];
  readonly links?: Readonly<Record<string, readonly string[]>>;
}

export interface Document {
  readonly graph: {
    readonly directed: true;
    readonly nodes: Record<string, { label: string; metadata: Record<string, unknown> }>;
    readonly edges: { source: string; target: string; relation: string }[];
  };
}

/** Vertices by id and type, and their containment. */
export function aDocument(
  types: Readonly<Record<string, string>>,
  edges: readonly (readonly [string, string])[] = [],
): Document {
  return {
    graph: {
      directed: true,
      nodes: Object.fromEntries(
        Object.entries(types).map(([id, type]) => [id, { label: id, metadata: { type } }]),
      ),
      edges: edges.map(([source, target]) => ({ source, target, relation: "contains" })),
    },
  };
}

/** The document of a tree; vertices without an id are numbered from "0". */
export function documentOf(root: Branch): Document {
  const document = aDocument({});
  const { nodes, edges } = document.graph;
  let count = 0;
  const add = (branch: Branch, above: string | undefined): void => {
    const id = branch.id ?? String(count);
    count += 1;
    const metadata: Record<string, unknown> = { type: branch.type };
    if (branch.size !== undefined) metadata["size"] = branch.size;
    if (branch.unit !== undefined) metadata["unit"] = branch.unit;
    nodes[id] = { label: id, metadata };
    if (above !== undefined) edges.push({ source: above, target: id, relation: "contains" });
    for (const inner of branch.inside ?? []) add(inner, id);
  };
  add(root, undefined);
  return document;
}

/** `count` equal branches. */
export const times = (count: number, branch: Branch): Branch[] =>
  Array.from({ length: count }, () => branch);
