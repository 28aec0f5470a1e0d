import type { DescMessage, DescMethodUnary } from "@bufbuild/protobuf";
import type { FieldNode, GraphQLFieldConfigMap } from "graphql";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { turns } from "../../../server/loop/in-slices.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import { fromJson } from "../../../wire/read-json.ts";
import type { GraphqlCaller } from "../../web/graphql-extension.ts";
import type { Call } from "./methods.ts";

/** The context that resolvers of one request share. */
export class GraphqlContext implements GraphqlCaller {
  /** The operations of the caller's principal. */
  readonly operations: Operations;
  /** The estimated cost of one item of each list field. */
  readonly #costs: ReadonlyMap<FieldNode, number>;
  #calls = 0;
  #spent = 0;

  constructor(operations: Operations, costs: ReadonlyMap<FieldNode, number>) {
    this.operations = operations;
    this.#costs = costs;
  }

  /** One call at a time over all callers: a request may have many. */
  async turn(): Promise<void> {
    if (this.#calls++ > 0) await turns.next(this.#calls);
  }

  /** Calls a method with its request as JSON. */
  async call(
    { input }: Pick<DescMethodUnary, "input">,
    { run }: Call<DescMessage, DescMessage>,
    args: object,
  ): Promise<unknown> {
    const request = fromJson(input, withoutNulls(args));
    await this.turn();
    return run(this.operations, request);
  }

  /** Lists without a page size may be longer than estimated. */
  checkSize(answer: object, size: number, node: FieldNode | undefined): void {
    const estimated = (node && this.#costs.get(node)) ?? 0;
    const rows = Object.values(answer).reduce<number>(
      (most, value) => (Array.isArray(value) ? Math.max(most, value.length) : most),
      0,
    );
    this.#spent += (estimated * rows) / size;
    if (rows <= size || this.#spent <= limits.graphqlCostMax) return;
    throw new AppError(
      "exhausted",
      `there are ${rows} rows, more than one request may return with so many fields; request fewer`,
    );
  }
}

/** In GraphQL null may mean an absent value. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const given = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  return Object.fromEntries(given.map(([name, each]) => [name, withoutNulls(each)]));
}

export type Fields = GraphQLFieldConfigMap<unknown, GraphqlContext>;
