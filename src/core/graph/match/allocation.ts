import type { Graph } from "../graph.ts";

/** A vertex that a request uses, or the location of its slots. */
export interface Pick {
  /** The number of the need that it serves. */
  readonly need: number;
  /** The number of the pick that contains it; -1: none. */
  readonly inside: number;
  /** -1: the whole graph, for a slot that is not bound to any vertex. */
  readonly vertex: number;
  /** How much of the need it covers, in the request's unit. */
  readonly counts: number;
  /** How much of the vertex is allocated, in its own unit; 0: the job shares it with others. */
  readonly taken: number;
}

/** The vertices that a job gets. */
export interface Allocation {
  readonly alternative: number;
  readonly picks: readonly Pick[];
}

export interface Share {
  readonly id: string;
  readonly type: string;
  readonly amount: number;
  readonly unit: string;
  /** The job has the vertex and its descendants to itself. */
  readonly isWhole: boolean;
}

/** The allocated vertices with their amounts, without the vertices that the job only shares. */
export function sharesOf(graph: Graph, { picks }: Allocation): readonly Share[] {
  return picks
    .filter(({ taken }) => taken > 0)
    .map(({ vertex, taken }) => {
      const { type = "", size = 0, unit = "" } = graph.kinds[graph.kindOf[vertex] ?? -1] ?? {};
      const isWhole = taken >= size;
      return { id: graph.ids[vertex] ?? "", type, amount: taken, unit, isWhole };
    });
}

/** The number of vertices of a type that a job uses, for counters and for display. */
export function verticesOfType(graph: Graph, { picks }: Allocation, type: string): number {
  const vertices = new Set<number>();
  for (const { vertex } of picks) {
    for (let at = vertex; at >= 0; at = graph.parentOf[at] ?? -1) {
      if (graph.kinds[graph.kindOf[at] ?? -1]?.type === type) vertices.add(at);
    }
  }
  return vertices.size;
}
