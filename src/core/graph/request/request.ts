/**
 * The graph resources that a job requests: trees of types. A job needs all trees of a set together:
 * they are summed, and no vertex counts for two of them. Jobspecs of every dialect are converted to
 * this.
 */
export interface ResourceRequest {
  /** As in the cluster's graph: core, node, gpu, memory, …; free text. */
  readonly type: string;
  /** The number of vertices; for measured types (memory) the amount, in `unit`. */
  readonly count: number;
  /** undefined: pieces, or the unit of the graph. */
  readonly unit: string | undefined;
  /**
   * A slot: `count` copies of the subtree, anywhere, each inside one vertex of its type (or, of
   * type "slot", inside its parent). Not a slot: `count` for each of its parent.
   */
  readonly isSlot: boolean;
  /** The job has the found vertices, whole, to itself. */
  readonly isExclusive: boolean;
  /** For people. */
  readonly label: string | undefined;
  /** Every vertex that is counted here must meet all of them. */
  readonly requires: readonly Requirement[];
  readonly with: readonly ResourceRequest[];
}

/**
 * In order of preference: the first alternative that fits is chosen. An alternative needs all of
 * its trees.
 */
export type ResourceChoice = readonly (readonly ResourceRequest[])[];

/** A vertex meets it by a link to one vertex of `subsystem` on which all conditions hold. */
export interface Requirement {
  readonly subsystem: string;
  readonly conditions: readonly Condition[];
}

/** A test of one metadata field of a subsystem's vertex. */
export type Condition =
  | { readonly kind: "present"; readonly field: string }
  /** Exactly one of these; several are in order of preference. */
  | { readonly kind: "one-of"; readonly field: string; readonly values: readonly string[] }
  /** Between two versions, inclusive; at least one of them is set. */
  | {
      readonly kind: "version";
      readonly field: string;
      readonly min: string | undefined;
      readonly max: string | undefined;
    }
  | {
      readonly kind: "number";
      readonly field: string;
      readonly comparison: "<" | "<=" | "=" | "!=" | ">=" | ">";
      readonly value: number;
      /** Converted to the vertex's own unit when both have one. */
      readonly unit: string | undefined;
    };
