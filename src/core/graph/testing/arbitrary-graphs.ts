import * as fc from "fast-check";
import type { Branch, Document } from "./documents.ts";

const LEVELS = ["cluster", "rack", "node", "socket", "core"] as const;

/** Small trees that resemble clusters, with sizes, units and sometimes a vertex out of place. */
export const anyBranch: fc.Arbitrary<Branch> = branchAt(0);

function branchAt(level: number): fc.Arbitrary<Branch> {
  const type = LEVELS[level] ?? "core";
  const odd = fc.constantFrom<Branch>(
    { type: "gpu", size: 2 },
    { type: "memory", size: 4, unit: "GiB" },
    { type: "core", size: 3 },
    { type: "node", inside: [{ type: "core" }] },
    { type: "license" },
  );
  const inner: fc.Arbitrary<readonly Branch[]> =
    level + 1 < LEVELS.length
      ? fc
          .array(
            fc.oneof({ weight: 4, arbitrary: fc.constant(level + 1) }, fc.constant(level + 2)),
            { maxLength: 3 },
          )
          .chain((levels) => fc.tuple(...levels.map((each) => branchAt(Math.min(each, 4)))))
      : fc.constant([]);
  return fc
    .tuple(inner, fc.option(odd, { freq: 4 }), fc.integer({ min: 0, max: 9 }))
    .map(([inside, extra, dice]) => ({
      type,
      ...(type === "core" && dice < 3 ? { size: dice } : {}),
      inside: extra === null ? inside : [...inside, extra],
    }));
}

/** The same document in another order. */
export function shuffled(document: Document, dice: () => number): Document {
  const mix = <T>(items: readonly T[]): T[] =>
    items
      .map((item) => ({ item, at: dice() }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item);
  const { nodes, edges } = document.graph;
  return {
    graph: {
      directed: true,
      nodes: Object.fromEntries(mix(Object.entries(nodes))),
      edges: mix(edges),
    },
  };
}
