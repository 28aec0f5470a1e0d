import {
  type DocumentNode,
  type GraphQLError,
  type GraphQLSchema,
  Kind,
  Lexer,
  type OperationDefinitionNode,
  OverlappingFieldsCanBeMergedRule,
  parse,
  recommendedRules,
  Source,
  specifiedRules,
  TokenKind,
  validate,
} from "graphql";
import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";

/**
 * Whether fields with one name agree is checked while the document is measured, in linear time: the rule of the library compares each with
 * each.
 */
const RULES = [
  ...specifiedRules.filter((rule) => rule !== OverlappingFieldsCanBeMergedRule),
  ...recommendedRules,
];

/** Parses a text to a document that fits the schema. Throws AppError or GraphQLError, in bounded time. */
export function readDocument(schema: GraphQLSchema, text: string): DocumentNode {
  if (text.length > limits.graphqlDocumentCharsMax) {
    throw tooMuch(`more than ${limits.graphqlDocumentCharsMax} characters`);
  }
  const source = new Source(text, "query");
  checkTokens(source);
  const document = parse(source, { maxTokens: limits.graphqlTokensMax });
  const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  if (operations.length > limits.graphqlOperationsMax) {
    throw tooMuch(`more than ${limits.graphqlOperationsMax} operations`);
  }
  const errors = validate(schema, document, RULES, { maxErrors: limits.graphqlErrorsMax });
  if (errors.length > 0) throw new InvalidDocument(errors);
  return document;
}

/** The errors of a document, up to a limit. */
export class InvalidDocument extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super("the document does not fit the schema");
    this.errors = errors;
  }
}

/** The parser recurses for each bracket, so brackets are counted first. */
function checkTokens(source: Source): void {
  const lexer = new Lexer(source);
  let tokens = 0;
  let nesting = 0;
  for (let { kind } = lexer.advance(); kind !== TokenKind.EOF; { kind } = lexer.advance()) {
    if (++tokens > limits.graphqlTokensMax) {
      throw tooMuch(`more than ${limits.graphqlTokensMax} tokens`);
    }
    if (OPENING.has(kind)) nesting++;
    else if (CLOSING.has(kind)) nesting--;
    if (nesting > limits.graphqlNestingMax) {
      throw tooMuch(`more than ${limits.graphqlNestingMax} nested brackets`);
    }
  }
}

const OPENING: ReadonlySet<TokenKind> = new Set([
  TokenKind.BRACE_L,
  TokenKind.BRACKET_L,
  TokenKind.PAREN_L,
]);
const CLOSING: ReadonlySet<TokenKind> = new Set([
  TokenKind.BRACE_R,
  TokenKind.BRACKET_R,
  TokenKind.PAREN_R,
]);

const tooMuch = (what: string): AppError =>
  new AppError("exhausted", `the document has ${what}; request less at once`, { field: "query" });

/** The operation that is to run. */
export function operationOf(
  { definitions }: DocumentNode,
  name: string | undefined,
): OperationDefinitionNode {
  const all = definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION);
  const found = name === undefined ? all : all.filter((each) => each.name?.value === name);
  const [operation, another] = found;
  if (operation !== undefined && another === undefined) return operation;
  const known = all.map((each) => each.name?.value).join(", ");
  throw new AppError(
    "invalid_argument",
    operation === undefined
      ? `there is no such operation; the document has ${known || "none"}`
      : `name the operation to run in operationName: ${known}`,
    { field: "operationName" },
  );
}
