import {
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from "graphql";
import { limits } from "../../../limits.ts";
import type { OutputQuery } from "../../../server/operations/operations.ts";
import { Int64 } from "../../../wire/graphql-scalars.ts";
import type { FieldNotes } from "../../web/graphql-extension.ts";
import type { GraphqlContext } from "./context.ts";

const OUTPUT_COST = 100; // it is read from a node, over a network

const OutputStream = new GraphQLEnumType({
  name: "OutputStream",
  description: "Which output of a task",
  values: { stdout: {}, stderr: {} },
});

const Output = new GraphQLObjectType({
  name: "Output",
  description: `A part of the output of a task: at most ${limits.graphqlOutputBytes} bytes`,
  fields: {
    text: {
      type: new GraphQLNonNull(GraphQLString),
      description: "The output, as UTF-8; other bytes are shown as U+FFFD",
    },
    nextOffset: {
      type: new GraphQLNonNull(Int64),
      description: "The offset to continue at; the same as `offset`: there is no more yet",
    },
    truncated: {
      type: new GraphQLNonNull(GraphQLBoolean),
      description: "The stream was longer than its limit",
    },
  },
});

const notes: FieldNotes = { cost: OUTPUT_COST, isCall: true };

interface OutputArguments {
  readonly stream?: OutputQuery["stream"] | null;
  readonly offset?: number | null;
  readonly attempt?: number | null;
}

/** The beginning of the output: REST and gRPC can read all of it, and follow. */
export const outputField: GraphQLFieldConfig<unknown, GraphqlContext, OutputArguments> = {
  type: Output,
  description: "Its output so far",
  args: {
    stream: { type: OutputStream, description: "Default: stdout" },
    offset: { type: Int64, description: "Skip this many bytes" },
    attempt: { type: Int64, description: "Which; 0 or absent: the latest" },
  },
  extensions: { notes },
  async resolve(task, { stream, offset, attempt }, context) {
    const { id } = task as { readonly id: string };
    await context.turn();
    const ended = new AbortController();
    const query = {
      taskId: id,
      stream: stream ?? "stdout",
      offset: offset ?? 0,
      attempt: attempt ?? undefined,
    };
    const parts: Uint8Array[] = [];
    let bytes = 0;
    let truncated = false;
    for await (const part of context.operations.readOutput(query, ended.signal)) {
      parts.push(part.data.subarray(0, limits.graphqlOutputBytes - bytes));
      bytes = Math.min(bytes + part.data.length, limits.graphqlOutputBytes);
      truncated ||= part.truncated;
      if (bytes >= limits.graphqlOutputBytes) break;
    }
    ended.abort();
    return { text: Buffer.concat(parts).toString(), nextOffset: query.offset + bytes, truncated };
  },
};
