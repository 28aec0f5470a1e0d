import type { FieldNode, GraphQLFieldConfigMap } from "graphql";
import type { Operations, WatchQuery } from "../../server/operations/operations.ts";

/** The context that resolvers of one request share. */
export interface GraphqlCaller {
  /** The operations of the caller's principal. */
  readonly operations: Operations;
  /** Resolves when a call has its turn: one at a time, over all callers. */
  turn(): Promise<void>;
  /** Throws when lists of an answer are so much longer than estimated that the answer costs too much. */
  checkSize(answer: object, size: number, node: FieldNode | undefined): void;
}

/** Additional data about a field, in its `extensions` as `notes`. */
export interface FieldNotes {
  /** In addition to the 1 of a shown field. */
  readonly cost?: number;
  /** It calls an operation, so events cannot have it. */
  readonly isCall?: boolean;
  /** The argument that limits the length of the list, or of the lists of its answer. */
  readonly sizeArgument?: string;
  /** The argument that selects at most one item. */
  readonly oneArgument?: string;
  /** The length of the list, or of the lists of its answer, where no argument limits it. */
  readonly size?: number;
  /** For a field of subscriptions: the watch. It is resolved for each event. */
  readonly watch?: (args: Readonly<Record<string, unknown>>) => WatchQuery;
}

export type GraphqlFields = GraphQLFieldConfigMap<unknown, GraphqlCaller>;

/** A door's additions to the schema. */
export interface GraphqlExtension {
  readonly query?: GraphqlFields;
  readonly mutation?: GraphqlFields;
  readonly subscription?: GraphqlFields;
}
