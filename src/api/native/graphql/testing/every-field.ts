import {
  getNamedType,
  type GraphQLField,
  type GraphQLInputType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
} from "graphql";

/** Values of required fields in tests, by name. */
const VALUES: Readonly<Record<string, string>> = {
  id: '"1"',
  jobId: '"1"',
  ids: '["1"]',
  name: '"n1"',
  cluster: '"local"',
  jobs: '[{command: ["true"]}]',
  jobspec:
    '"version: 1\\nresources: [{type: slot, count: 1, label: a, with: [{type: core, count: 1}]}]\\ntasks: [{command: [\\"true\\"], slot: a, count: {per_slot: 1}}]"',
  graph: "{graph: {nodes: {}, edges: []}}",
  reports: '[{id: "1", state: "running"}]',
  values: "{a: 1}",
};

/** A field with all its subfields, as text, to a maximum depth. */
export function askFor(
  field: GraphQLField<unknown, unknown>,
  values: Readonly<Record<string, string>>,
  depth: number,
): string {
  const given = field.args
    .filter((each) => isRequiredArgument(each) || values[each.name] !== undefined)
    .map((each) => `${each.name}: ${values[each.name] ?? VALUES[each.name] ?? sample(each.type)}`);
  const args = given.length === 0 ? "" : `(${given.join(", ")})`;
  const type = getNamedType(field.type);
  if (!isObjectType(type)) return `${field.name}${args}`;
  if (depth === 0) return "";
  const below = Object.values(type.getFields())
    .map((each) => askFor(each, {}, depth - 1))
    .filter((text) => text !== "");
  return below.length === 0 ? "" : `${field.name}${args} { ${below.join(" ")} }`;
}

function sample(type: GraphQLInputType): string {
  if (isNonNullType(type)) return sample(type.ofType);
  if (isListType(type)) return "[]";
  return ["Int", "Int64", "Float"].includes(type.name) ? "1" : '"1"';
}
