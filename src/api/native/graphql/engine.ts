import {
  type DocumentNode,
  execute,
  executeSync,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLFormattedError,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type OperationTypeNode,
} from "graphql";
import { AppError, invalid } from "../../../lib/errors.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import type { GraphqlExtension } from "../../web/graphql-extension.ts";
import { GraphqlContext } from "./context.ts";
import { KnownDocuments } from "./documents/known-documents.ts";
import { type Measured, measure } from "./documents/measure.ts";
import { operationOf, readDocument } from "./documents/read-document.ts";
import { toGraphqlErrors } from "./errors.ts";
import type { GraphqlRequest } from "./request.ts";
import { createSchema } from "./schema.ts";

/** A document that is ready to run: it fits the schema, and its cost is within the limit. */
export interface Prepared {
  readonly request: GraphqlRequest;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly measured: Measured;
  readonly kind: `${OperationTypeNode}`;
}

/** The response. Without `data`: nothing was executed. */
export interface GraphqlAnswer {
  readonly data?: unknown;
  readonly errors?: readonly GraphQLFormattedError[];
}

/** Answers about the schema, which is constant. */
const KNOWN_ANSWERS_MAX = 4;

export class GraphqlEngine {
  readonly schema: GraphQLSchema;
  readonly #logger: Logger;
  readonly #documents: KnownDocuments;
  readonly #answers = new Map<OperationDefinitionNode, GraphqlAnswer>();

  constructor(logger: Logger, extensions: readonly GraphqlExtension[] = []) {
    this.schema = createSchema(extensions);
    this.#logger = logger;
    this.#documents = new KnownDocuments((text) => readDocument(this.schema, text));
  }

  /** Throws errors that `refusal` converts. */
  prepare(request: GraphqlRequest): Prepared {
    const { query, sha256, operationName, variables } = request;
    const text = sha256 === undefined ? query : this.#documents.textOf(query, sha256);
    if (text === undefined) throw invalid("query", "is missing");
    const document = this.#documents.of(text);
    const operation = operationOf(document, operationName);
    const measured = measure(this.schema, { document, operation, variables });
    return { request, document, operation, measured, kind: operation.operation };
  }

  async run(prepared: Prepared, operations: Operations): Promise<GraphqlAnswer> {
    const { operation, measured } = prepared;
    if (prepared.kind === "subscription") {
      throw new AppError(
        "invalid_argument",
        "subscriptions need a stream: send Accept: text/event-stream",
        {
          field: "Accept",
        },
      );
    }
    const known = this.#answers.get(operation);
    if (known !== undefined) return known;
    const context = new GraphqlContext(operations, measured.costs);
    const answer = this.#shown(await execute(this.#argsOf(prepared, { contextValue: context })));
    const isAlwaysTheSame =
      measured.cost === 0 && (operation.variableDefinitions ?? []).length === 0;
    if (isAlwaysTheSame && answer.errors === undefined) this.#remember(operation, answer);
    return answer;
  }

  /** One event of a subscription; undefined: it has nothing to show. */
  event(prepared: Prepared, event: unknown): GraphqlAnswer | undefined {
    const answer = this.#shown(executeSync(this.#argsOf(prepared, { rootValue: event })));
    const isNothing =
      answer.errors === undefined &&
      Object.values(answer.data ?? {}).every((value) => value === null);
    return isNothing ? undefined : answer;
  }

  refusal(thrown: unknown): GraphqlAnswer {
    return { errors: toGraphqlErrors(thrown, this.#logger) };
  }

  #argsOf(
    { document, operation, request }: Prepared,
    beside: Pick<ExecutionArgs, "contextValue" | "rootValue">,
  ): ExecutionArgs {
    return {
      schema: this.schema,
      document,
      operationName: operation.name?.value ?? null,
      variableValues: request.variables,
      ...beside,
    };
  }

  #shown({ data, errors }: ExecutionResult): GraphqlAnswer {
    return {
      ...(data === undefined ? {} : { data }),
      ...(errors !== undefined && {
        errors: errors.flatMap((error) => toGraphqlErrors(error, this.#logger)),
      }),
    };
  }

  #remember(operation: OperationDefinitionNode, answer: GraphqlAnswer): void {
    this.#answers.set(operation, answer);
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= KNOWN_ANSWERS_MAX) break;
      this.#answers.delete(oldest);
    }
  }
}
