import type { FieldNode, GraphQLFieldConfigMap } from "graphql";
import type { Operations, WatchQuery } from "../../server/operations/operations.ts";

/** What resolvers of one request share. */
export interface GraphqlCaller {
  /** As the caller may use them. */
  readonly operations: Operations;
  /** Resolves when a call has its turn: one after the other, over all callers. */
  turn(): Promise<void>;
  /** Throws where lists of an answer are so much longer than they were estimated that it costs too much. */
  checkSize(answer: object, size: number, node: FieldNode | undefined): void;
}

/** What is said about a field beside its type, in its `extensions` as `notes`. */
export interface FieldNotes {
  /** Beside the 1 of a field that is shown. */
  readonly cost?: number;
  /** Calls an operation, so that events cannot have it. */
  readonly isCall?: boolean;
  /** The argument that tells how long the list is at most, or the lists of its answer. */
  readonly sizeArgument?: string;
  /** The argument with which there is at most one. */
  readonly oneArgument?: string;
  /** How long the list is, or the lists of its answer, where no argument tells it. */
  readonly size?: number;
  /** Of a field of subscriptions: what is watched. It is resolved for each event. */
  readonly watch?: (args: Readonly<Record<string, unknown>>) => WatchQuery;
}

export type GraphqlFields = GraphQLFieldConfigMap<unknown, GraphqlCaller>;

/** What a door adds to the schema. */
export interface GraphqlExtension {
  readonly query?: GraphqlFields;
  readonly mutation?: GraphqlFields;
  readonly subscription?: GraphqlFields;
}
