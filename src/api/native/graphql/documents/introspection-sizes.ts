import {
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isObjectType,
  type GraphQLNamedType,
} from "graphql";

const known = new WeakMap<GraphQLSchema, ReadonlyMap<string, number>>();

/** The average lengths of the lists that describe the schema itself: summed over all types, they are the cost. */
export function introspectionSizes(schema: GraphQLSchema): ReadonlyMap<string, number> {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const types = Object.values(schema.getTypeMap());
  const sum = (count: (type: GraphQLNamedType) => number): number =>
    types.reduce((total, type) => total + count(type), 0);
  const fields = sum((type) => (isObjectType(type) ? Object.keys(type.getFields()).length : 0));
  const inputs = sum((type) =>
    isInputObjectType(type) ? Object.keys(type.getFields()).length : 0,
  );
  const args = sum((type) =>
    isObjectType(type)
      ? Object.values(type.getFields()).reduce((total, field) => total + field.args.length, 0)
      : 0,
  );
  const values = sum((type) => (isEnumType(type) ? type.getValues().length : 0));
  const directives = schema.getDirectives();
  const sizes = new Map([
    ["__Schema.types", types.length],
    ["__Schema.directives", directives.length],
    ["__Type.fields", fields / types.length],
    ["__Type.inputFields", inputs / types.length],
    ["__Type.enumValues", values / types.length],
    ["__Type.interfaces", 0.1],
    ["__Type.possibleTypes", 0.1],
    ["__Field.args", args / Math.max(1, fields)],
    ["__Directive.args", 2],
  ]);
  known.set(schema, sizes);
  return sizes;
}
