import { GraphQLError, GraphQLScalarType, Kind, type ValueNode } from "graphql";

/** GraphQL's Int has 32 bits: times in milliseconds and bytes do not fit. */
export const Int64 = new GraphQLScalarType<number, number>({
  name: "Int64",
  description: "A whole number of up to 53 bits, as a JSON number",
  serialize: whole,
  parseValue: whole,
  parseLiteral(node) {
    if (node.kind === Kind.INT) return whole(Number(node.value));
    throw new GraphQLError("must be a whole number", { nodes: node });
  },
});

function whole(value: unknown): number {
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw new GraphQLError("must be a whole number of up to 53 bits");
}

/** For values without a type of their own: documents, and values under names that callers choose. */
export const Json = new GraphQLScalarType<unknown, unknown>({
  name: "JSON",
  description: "Any JSON value",
  parseValue: (value) => value,
  parseLiteral: (node, variables) => literal(node, variables ?? {}),
});

export const JsonMap = new GraphQLScalarType<unknown, unknown>({
  name: "Map",
  description: "Values by name, as a JSON object",
  parseValue: objectOnly,
  parseLiteral: (node, variables) => objectOnly(literal(node, variables ?? {})),
});

function objectOnly(value: unknown): unknown {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new GraphQLError("must be an object: {name: value}");
}

/** As deep as the document parser goes, which has a limit. */
function literal(node: ValueNode, variables: Readonly<Record<string, unknown>>): unknown {
  switch (node.kind) {
    case Kind.NULL:
      return null;
    case Kind.INT:
    case Kind.FLOAT:
      return Number(node.value);
    case Kind.STRING:
    case Kind.BOOLEAN:
    case Kind.ENUM:
      return node.value;
    case Kind.VARIABLE:
      return variables[node.name.value];
    case Kind.LIST:
      return node.values.map((each) => literal(each, variables));
    case Kind.OBJECT:
      return Object.fromEntries(
        node.fields.map(({ name, value }) => [name.value, literal(value, variables)]),
      );
  }
}
