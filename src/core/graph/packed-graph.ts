import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Graph } from "./graph.ts";
import { type JoinedTexts, joinTexts, shareTexts, SLICE, splitTexts } from "./joined-texts.ts";
import { keepLayout, type Layout, layOut } from "./layout.ts";
import { encodeGraph, keepEncoded } from "./rows.ts";

/** A graph in the form that passes between threads, with the results that take long to compute. */
export interface PackedGraph extends Pick<Graph, "kinds" | "kindOf" | "parentOf" | "endOf"> {
  readonly ids: JoinedTexts;
  readonly labelled: Int32Array;
  readonly labels: JoinedTexts;
  /** Each text once; -1 in `extraOf` for none. */
  readonly extras: JoinedTexts;
  readonly extraOf: Int32Array;
  /** The stored row. */
  readonly encoded: string;
  readonly layout: Omit<Layout, "graph" | "subsystems">;
}

/** A graph that is parsed and validated already, where a document is expected. */
export class ReadGraph {
  readonly graph: Graph;

  constructor(graph: Graph) {
    this.graph = graph;
  }
}

export function packGraph(graph: Graph): PackedGraph {
  const { graph: _, subsystems: __, ...layout } = layOut(graph, new Map());
  if (layout.shapes.length > limits.graphShapesMax) {
    throw invalid(
      "graph",
      `has too many different vertices: at most ${limits.graphShapesMax} vertices may differ from all others ` +
        "in type, size or what they contain",
    );
  }
  const { texts: extras, textOf: extraOf } = shareTexts(graph.extras);
  const { kinds, kindOf, parentOf, endOf } = graph;
  return {
    kinds,
    kindOf,
    parentOf,
    endOf,
    ids: joinTexts(graph.ids),
    labelled: Int32Array.from(graph.labels.keys()),
    labels: joinTexts([...graph.labels.values()]),
    extras,
    extraOf,
    encoded: encodeGraph(graph),
    layout,
  };
}

/** Unpacks the graph. Yields between slices, so that other work gets a turn. */
export function* adoptGraph(packed: PackedGraph): Generator<undefined, Graph> {
  const { kinds, kindOf, parentOf, endOf, labelled, extraOf, encoded, layout } = packed;
  const ids = yield* splitTexts(packed.ids);
  const texts = yield* splitTexts(packed.labels);
  const extras = yield* splitTexts(packed.extras);
  const labels = new Map<number, string>();
  for (let at = 0; at < labelled.length; at++) {
    if (at % SLICE === SLICE - 1) yield;
    labels.set(labelled[at] ?? 0, texts[at] ?? "");
  }
  const extraTexts: (string | undefined)[] = [];
  for (let at = 0; at < extraOf.length; at++) {
    if (at % (5 * SLICE) === 5 * SLICE - 1) yield;
    const extra = extraOf[at] ?? -1;
    extraTexts.push(extra < 0 ? undefined : extras[extra]); // [-1] would be a lookup by the key "-1"
  }
  const graph: Graph = { ids, kinds, kindOf, parentOf, endOf, labels, extras: extraTexts };
  keepLayout({ ...layout, graph, subsystems: new Map() });
  keepEncoded(graph, encoded);
  return graph;
}

/** The buffers to transfer, rather than copy, to another thread. */
export const transferOf = (packed: PackedGraph): ArrayBuffer[] =>
  [
    packed.kindOf,
    packed.parentOf,
    packed.endOf,
    packed.ids.lengths,
    packed.labelled,
    packed.labels.lengths,
    packed.extras.lengths,
    packed.extraOf,
    packed.layout.shapeOf,
  ].map(({ buffer }) => buffer as ArrayBuffer);
