import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { byId } from "../graph.ts";
import { type Edge, graphOf, readEdge } from "../jgf.ts";
import { type Kind, quote, readVertices } from "../vertex-table.ts";

/**
 * The content of a subsystem's document before its links are resolved in the graph of a cluster:
 * other threads parse documents, and do not have that graph. Vertices are sorted by id.
 */
export interface SubsystemDraft {
  readonly ids: readonly string[];
  readonly kinds: readonly Kind[];
  readonly kindOf: Int32Array;
  /** Only labels that differ from the id. */
  readonly labels: ReadonlyMap<number, string>;
  /** Metadata other than type, size and unit, as canonical JSON. */
  readonly extras: readonly (string | undefined)[];
  readonly links: DraftLinks;
  /** From, to, from, to …: sorted edges between its own vertices. */
  readonly inner: Int32Array;
}

export type DraftLinks =
  /** All vertices hold for every node of the cluster. */
  | { readonly kind: "all-nodes" }
  | {
      readonly kind: "by-id";
      /** Ids that are not its own, each once. */
      readonly outer: readonly string[];
      /** The first use of each: twice the number of the edge, plus one for the edge's target. */
      readonly firstUse: Int32Array;
      /** Number of an outer id, number of an own vertex, and so on; sorted, each pair once. */
      readonly pairs: Int32Array;
      /**
       * The problem of an edge. An unknown outer id of this edge or an earlier one is reported
       * first.
       */
      readonly refusal: EdgeRefusal | undefined;
    };

export interface EdgeRefusal {
  readonly edge: number;
  readonly field: string | undefined;
  readonly problem: string;
}

export function readSubsystemDraft(document: unknown): SubsystemDraft {
  const { nodes, edges } = graphOf(document);
  const { table, numberOf } = readVertices(nodes, limits.graphVerticesMax);
  const order = table.ids.map((_, number) => number).sort(byId(table.ids));
  const place = new Int32Array(order.length);
  order.forEach((old, at) => (place[old] = at));
  const { links, inner } = new EdgeReader(numberOf, place).read(edges);
  return {
    ids: order.map((old) => table.ids[old] ?? ""),
    kinds: table.kinds,
    kindOf: Int32Array.from(order, (old) => table.kindOf[old] ?? 0),
    labels: new Map([...table.labels].map(([old, label]) => [place[old] ?? 0, label])),
    extras: order.map((old) => table.extras[old]),
    links,
    inner,
  };
}

/**
 * "contains" from the cluster's graph into the subsystem is a link. "in" is its customary reverse
 * and not a link of its own; published templates get its end wrong ("5" contains x, x is in "6"),
 * so its ends only have to exist. For the same reason the reader ignores a "contains" between two
 * vertices of the cluster's graph: it can only repeat or contradict that graph, and changes nothing
 * in it.
 */
class EdgeReader {
  readonly #numberOf: ReadonlyMap<string, number>;
  readonly #place: Int32Array;
  readonly #outer = new Map<string, number>();
  readonly #firstUse: number[] = [];
  readonly #links: number[] = [];
  readonly #inner: number[] = [];

  constructor(numberOf: ReadonlyMap<string, number>, place: Int32Array) {
    this.#numberOf = numberOf;
    this.#place = place;
  }

  read(edges: readonly unknown[]): Pick<SubsystemDraft, "links" | "inner"> {
    const refusal = this.#readAll(edges);
    const links = {
      kind: "by-id",
      outer: [...this.#outer.keys()],
      firstUse: Int32Array.from(this.#firstUse),
      pairs: toPairs(this.#links),
      refusal,
    } as const;
    return { links, inner: toPairs(this.#inner) };
  }

  #readAll(edges: readonly unknown[]): EdgeRefusal | undefined {
    for (let at = 0; at < edges.length; at++) {
      try {
        this.#add(readEdge(edges[at], at), at);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return { edge: at, field: error.field, problem: error.problem };
      }
    }
    return undefined;
  }

  #add({ source, target, relation }: Edge, at: number): void {
    if (relation !== "contains" && relation !== "in") return;
    const [from, to] = [this.#own(source), this.#own(target)];
    const outer = from === undefined ? this.#outerNumber(source, 2 * at) : undefined;
    if (to === undefined) this.#outerNumber(target, 2 * at + 1);
    if (relation === "in") return;
    if (from !== undefined && to !== undefined) {
      if (from === to) {
        throw invalid(`graph.edges[${at}]`, `${quote(source)} cannot contain itself`);
      }
      this.#inner.push(from * PAIR + to);
    } else if (outer !== undefined && to !== undefined) {
      this.#links.push(outer * PAIR + to);
    } else if (from !== undefined) {
      const text = `goes from the subsystem to ${quote(target)} of the cluster: write it the other way`;
      throw invalid(`graph.edges[${at}]`, text);
    }
  }

  #own(id: string): number | undefined {
    const number = this.#numberOf.get(id);
    return number === undefined ? undefined : this.#place[number];
  }

  #outerNumber(id: string, use: number): number {
    let number = this.#outer.get(id);
    if (number === undefined) {
      this.#outer.set(id, (number = this.#outer.size));
      this.#firstUse.push(use);
    }
    return number;
  }
}

/** Larger than any number of vertices or ids, and the product of two fits a safe integer. */
const PAIR = 2 ** 24;

function toPairs(joined: readonly number[]): Int32Array {
  const sorted = Float64Array.from(joined).sort();
  const pairs = new Int32Array(2 * sorted.length);
  let count = 0;
  for (let at = 0; at < sorted.length; at++) {
    const pair = sorted[at] ?? 0;
    if (at > 0 && pair === sorted[at - 1]) continue;
    pairs[count++] = Math.floor(pair / PAIR);
    pairs[count++] = pair % PAIR;
  }
  return pairs.slice(0, count);
}
