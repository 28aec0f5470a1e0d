import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { type Graph, indexIds, NO_PARENT, vertexNumber } from "../graph.ts";
import { SLICE } from "../joined-texts.ts";
import { scalarsOf } from "../metadata.ts";
import type { Subsystem, SubsystemVertex } from "./subsystem.ts";
import type { DraftLinks, SubsystemDraft } from "./subsystem-draft.ts";
import { metadataOf, quote } from "../vertex-table.ts";

/** Resolves the links of a draft in the graph of its cluster. Yields between slices. */
export function* linkSubsystem(
  name: string,
  draft: SubsystemDraft,
  graph: Graph,
): Generator<undefined, Subsystem> {
  yield* indexIds(graph);
  yield* checkIds(draft.ids, graph);
  const links =
    draft.links.kind === "all-nodes"
      ? yield* linkAllNodes(draft, graph)
      : yield* linkById(draft.links, graph);
  const inner: (readonly [number, number])[] = [];
  for (let at = 0; at < draft.inner.length; at += 2) {
    if (at % SLICE === SLICE - 2) yield;
    inner.push([draft.inner[at] ?? 0, draft.inner[at + 1] ?? 0]);
  }
  return { name, vertices: yield* verticesOf(draft), links, inner };
}

/** The subsystems of a cluster, linked to another graph. */
export interface Relinked {
  readonly from: ReadonlyMap<string, Subsystem>;
  readonly to: readonly Subsystem[];
}

/** Links subsystems to another graph of the same cluster. Yields between slices. */
export function* relinkAll(
  subsystems: ReadonlyMap<string, Subsystem>,
  from: Graph,
  to: Graph,
): Generator<undefined, Relinked> {
  const relinked: Subsystem[] = [];
  for (const each of subsystems.values()) relinked.push(yield* relinkSubsystem(each, from, to));
  return { from: subsystems, to: relinked };
}

/** Vertices keep their ids. */
function* relinkSubsystem(
  subsystem: Subsystem,
  from: Graph,
  to: Graph,
): Generator<undefined, Subsystem> {
  const { name, vertices, links: before } = subsystem;
  yield* indexIds(to);
  const links = new Map<number, readonly number[]>();
  let looked = 0;
  for (const [vertex, own] of before) {
    if (++looked % SLICE === 0) yield;
    const id = from.ids[vertex] ?? "";
    const number = vertexNumber(to, id);
    if (number === undefined) throw relinkRefusal(name, `it has no vertex ${quote(id)}`);
    links.set(number, own);
  }
  for (const { id } of vertices) {
    if (++looked % SLICE === 0) yield;
    if (vertexNumber(to, id) !== undefined) {
      throw relinkRefusal(
        name,
        `the subsystem and the cluster's graph both have a vertex ${quote(id)}`,
      );
    }
  }
  return { ...subsystem, links };
}

const relinkRefusal = (name: string, why: string): AppError =>
  new AppError(
    "conflict",
    `subsystem ${name} does not fit the new graph (${why}); remove it first`,
  );

function* checkIds(ids: readonly string[], graph: Graph): Generator<undefined, void> {
  for (let at = 0; at < ids.length; at++) {
    if (at % SLICE === SLICE - 1) yield;
    const id = ids[at] ?? "";
    if (vertexNumber(graph, id) === undefined) continue;
    // A link to this id would be ambiguous.
    throw invalid(`graph.nodes.${id}`, "the cluster's graph has a vertex of the same id");
  }
}

type Links = Map<number, readonly number[]>;

function* linkById(
  { outer, firstUse, pairs, refusal }: DraftLinks & { kind: "by-id" },
  graph: Graph,
): Generator<undefined, Links> {
  const numbers = new Int32Array(outer.length);
  // In the order of first use, so that the error names the first unknown id.
  for (let at = 0; at < outer.length; at++) {
    if (at % SLICE === SLICE - 1) yield;
    const use = firstUse[at] ?? 0;
    const edge = Math.floor(use / 2);
    if (refusal !== undefined && edge > refusal.edge) break;
    const number = vertexNumber(graph, outer[at] ?? "");
    if (number === undefined) {
      const field = `graph.edges[${edge}].${use % 2 === 0 ? "source" : "target"}`;
      const id = quote(outer[at] ?? "");
      throw invalid(field, `neither the subsystem nor the cluster's graph has a vertex ${id}`);
    }
    numbers[at] = number;
  }
  if (refusal !== undefined) {
    const { field, problem } = refusal;
    throw new AppError("invalid_argument", problem, { field });
  }
  const links: Links = new Map();
  let own: number[] = [];
  for (let at = 0; at < pairs.length; at += 2) {
    if (at % SLICE === SLICE - 2) yield;
    if (at === 0 || pairs[at] !== pairs[at - 2]) {
      links.set(numbers[pairs[at] ?? 0] ?? 0, (own = []));
    }
    own.push(pairs[at + 1] ?? 0);
  }
  return links;
}

/**
 * In a graph without a vertex of type node, the roots are linked, which covers all their
 * descendants.
 */
function* linkAllNodes({ ids }: SubsystemDraft, graph: Graph): Generator<undefined, Links> {
  const all = ids.map((_, number) => number);
  const [nodes, roots]: [Links, Links] = [new Map(), new Map()];
  for (let vertex = 0; vertex < graph.ids.length; vertex++) {
    if (vertex % SLICE === SLICE - 1) yield;
    if (graph.kinds[graph.kindOf[vertex] ?? -1]?.type === "node") nodes.set(vertex, all);
    if (graph.parentOf[vertex] === NO_PARENT) roots.set(vertex, all);
  }
  const links = nodes.size > 0 ? nodes : roots;
  if (links.size * all.length <= limits.graphEdgesMax) return links;
  const text = `${all.length} attributes of ${links.size} nodes are more than ${limits.graphEdgesMax} links`;
  throw invalid("compatibilities", text);
}

function* verticesOf(draft: SubsystemDraft): Generator<undefined, readonly SubsystemVertex[]> {
  const { ids, labels, kindOf, extras } = draft;
  // Vertices with equal metadata share one object.
  const known = new Map<number, Map<string, Pick<SubsystemVertex, "metadata" | "scalars">>>();
  const vertices: SubsystemVertex[] = [];
  for (let at = 0; at < ids.length; at++) {
    if (at % limits.verticesPerSliceMax === limits.verticesPerSliceMax - 1) yield;
    const [kind, extra] = [kindOf[at] ?? 0, extras[at] ?? ""];
    let byExtra = known.get(kind);
    if (byExtra === undefined) known.set(kind, (byExtra = new Map()));
    let said = byExtra.get(extra);
    if (said === undefined) {
      const metadata = metadataOf(draft, at);
      byExtra.set(extra, (said = { metadata, scalars: scalarsOf(metadata) }));
    }
    const id = ids[at] ?? "";
    vertices.push({ id, label: labels.get(at) ?? id, ...said });
  }
  return vertices;
}
