import type { Graph } from "../graph.ts";

/** A vertex that counts for a request, or a place for its slots. */
export interface Pick {
  /** The number of the need it counts for. */
  readonly need: number;
  /** The number of the pick it is inside of; -1: none. */
  readonly inside: number;
  /** -1: the whole graph, for a slot that is not bound to any vertex. */
  readonly vertex: number;
  /** For how many of what is asked it counts, in the request's unit. */
  readonly counts: number;
  /** How much of the vertex is taken, in its own unit; 0: it is shared with other jobs. */
  readonly taken: number;
}

/** What a job gets. */
export interface Allocation {
  readonly alternative: number;
  readonly picks: readonly Pick[];
}

export interface Share {
  readonly id: string;
  readonly type: string;
  readonly amount: number;
  readonly unit: string;
  /** Used by nothing else, with all that is inside. */
  readonly isWhole: boolean;
}

/** The vertices of an allocation with what is taken of them; those that are only shared left out. */
export function sharesOf(graph: Graph, { picks }: Allocation): readonly Share[] {
  return picks
    .filter(({ taken }) => taken > 0)
    .map(({ vertex, taken }) => {
      const { type = "", size = 0, unit = "" } = graph.kinds[graph.kindOf[vertex] ?? -1] ?? {};
      const isWhole = taken >= size;
      return { id: graph.ids[vertex] ?? "", type, amount: taken, unit, isWhole };
    });
}

/** The vertices of a type that a job is on, for counting down and for display. */
export function verticesOfType(graph: Graph, { picks }: Allocation, type: string): number {
  const vertices = new Set<number>();
  for (const { vertex } of picks) {
    for (let at = vertex; at >= 0; at = graph.parentOf[at] ?? -1) {
      if (graph.kinds[graph.kindOf[at] ?? -1]?.type === type) vertices.add(at);
    }
  }
  return vertices.size;
}
