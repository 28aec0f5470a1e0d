/**
 * What a job asks of a cluster: trees of resources. All trees of a set are wanted together: they are
 * summed, and nothing counts for two of them. Jobspecs of every dialect become this.
 */
export interface ResourceRequest {
  /** As in the cluster's graph: core, node, gpu, memory, …; free text. */
  readonly type: string;
  /** How many of it; of what is measured (memory) how much, in `unit`. */
  readonly count: number;
  /** undefined: pieces, or the unit that the graph itself uses. */
  readonly unit: string | undefined;
  /**
   * A slot: `count` copies of the subtree, anywhere, each wholly inside one vertex of its type (or,
   * of type "slot", inside whatever holds it). Not a slot: `count` for each of what is above it.
   */
  readonly isSlot: boolean;
  /** The vertices found are used by nothing else, whole. */
  readonly isExclusive: boolean;
  /** For people. */
  readonly label: string | undefined;
  /** Each must be met by every vertex that is counted here. */
  readonly requires: readonly Requirement[];
  readonly with: readonly ResourceRequest[];
}

/** In order of preference: the first that can be met is taken. Of each, all trees are wanted. */
export type ResourceChoice = readonly (readonly ResourceRequest[])[];

/** Met by a vertex that is linked to one vertex of `subsystem` on which all conditions hold. */
export interface Requirement {
  readonly subsystem: string;
  readonly conditions: readonly Condition[];
}

/** A test of one metadata field of a subsystem's vertex. */
export type Condition =
  | { readonly kind: "present"; readonly field: string }
  /** Any of these, exactly; several are in order of preference. */
  | { readonly kind: "one-of"; readonly field: string; readonly values: readonly string[] }
  /** Between versions, both included; at least one is given. */
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
