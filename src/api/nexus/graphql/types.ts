import {
  type GraphQLFieldConfig,
  type GraphQLFieldConfigMap,
  GraphQLID,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLString,
} from "graphql";
import { Int64, JsonMap } from "../../../wire/graphql-scalars.ts";
import type { FieldNotes, GraphqlCaller } from "../../web/graphql-extension.ts";
import { capital, CHILDREN, packageOf } from "../model/children.ts";
import { type Field, specFields, statusFields } from "../model/fields.ts";
import { ALL_KINDS, type KindName, type NexusKind } from "../model/kinds.ts";
import { DISPLAY_NAME } from "../model/names.ts";
import type { NexusObject } from "../model/object.ts";

/** How to read objects below others. */
export interface ChildReader {
  one(kind: NexusKind, caller: GraphqlCaller): Promise<NexusObject>;
  many(parent: NexusObject, kind: NexusKind, asked: ManyAsked): Promise<readonly NexusObject[]>;
  page(parent: NexusObject, kind: NexusKind, asked: PageAsked): Promise<ObjectPage>;
}

export interface ManyAsked extends SelectorArguments {
  readonly caller: GraphqlCaller;
  readonly Id?: string | null;
}

export interface PageAsked extends SelectorArguments {
  readonly caller: GraphqlCaller;
  readonly Limit?: number | null;
  readonly Continue?: string | null;
}

export interface SelectorArguments {
  readonly LabelSelector?: string | null;
  readonly FieldSelector?: string | null;
}

export interface ObjectPage {
  readonly Items: readonly NexusObject[];
  readonly Continue?: string;
}

export type KindTypes = Readonly<Record<KindName, GraphQLObjectType<NexusObject, GraphqlCaller>>>;
type Config = GraphQLFieldConfig<NexusObject, GraphqlCaller>;

/** The tree is in memory. */
const LIST_COST = 5;
/** The assumed number of children of one object. */
const ROWS = 10;

const selectors = {
  LabelSelector: { type: GraphQLString, description: "As kubectl -l has it" },
  FieldSelector: { type: GraphQLString, description: "As kubectl --field-selector has it" },
};

export const typeName = (kind: NexusKind): string => `${packageOf(kind)}_${kind.kind}`;

/** A type for each of the twelve kinds, with its name in the generated schema of the old system. */
export function kindTypes(reader: ChildReader): KindTypes {
  const types: Record<string, GraphQLObjectType<NexusObject, GraphqlCaller>> = {};
  const typeOf = (kind: NexusKind) => types[kind.kind] as GraphQLObjectType;
  for (const kind of ALL_KINDS) {
    types[kind.kind] = new GraphQLObjectType<NexusObject, GraphqlCaller>({
      name: typeName(kind),
      description: kind.description,
      fields: () => ({ ...ownFields(kind), ...childFields(kind, typeOf, reader) }),
    });
  }
  return types as KindTypes;
}

function ownFields(kind: NexusKind): GraphQLFieldConfigMap<NexusObject, GraphqlCaller> {
  const of = (
    type: GraphQLOutputType,
    description: string,
    resolve: (object: NexusObject) => unknown,
  ): Config => ({ type, description, resolve });
  const spec = Object.entries(specFields(kind)).filter(([name]) => !name.endsWith("Gvk"));
  const { state } = statusFields(kind);
  const status = state?.type === "object" ? state.properties : undefined;
  return {
    Id: of(
      GraphQLID,
      "The name given by its creator",
      ({ metadata }) => metadata.labels[DISPLAY_NAME],
    ),
    ParentLabels: of(JsonMap, "Its name and those of its parents, by kind", ({ metadata }) =>
      Object.fromEntries(
        ALL_KINDS.flatMap(({ crd, kind: name }) => {
          const own = name === kind.kind ? metadata.labels[DISPLAY_NAME] : undefined;
          const label = own ?? (kind.ancestors.includes(name) ? metadata.labels[crd] : undefined);
          return label === undefined ? [] : [[crd, label]];
        }),
      ),
    ),
    Name: of(GraphQLString, "The name on the wire, a hash", ({ metadata }) => metadata.name),
    Labels: of(JsonMap, "All of its labels", ({ metadata }) => metadata.labels),
    ResourceVersion: of(
      GraphQLString,
      "Of its last change",
      ({ metadata }) => metadata.resourceVersion,
    ),
    CreationTimestamp: of(
      GraphQLString,
      "When it was created",
      ({ metadata }) => metadata.creationTimestamp,
    ),
    ...Object.fromEntries(
      spec.map(([name, field]) => [
        capital(name),
        of(scalarOf(field), field.description, (object) => at(object.spec, name)),
      ]),
    ),
    ...(status && {
      Status: of(
        groupType(`${typeName(kind)}_Status`, "Its status", status),
        "Its status",
        (object) => object.status.state ?? {},
      ),
    }),
  };
}

const at = (value: unknown, name: string): unknown =>
  (value as Readonly<Record<string, unknown>> | undefined)?.[name];

const scalarOf = ({ type }: Field): GraphQLOutputType =>
  type === "integer" ? Int64 : type === "string" ? GraphQLString : JsonMap;

function groupType(
  name: string,
  description: string,
  fields: Readonly<Record<string, Field>>,
  beside: GraphQLFieldConfigMap<unknown, unknown> = {},
): GraphQLObjectType {
  return new GraphQLObjectType({
    name,
    description,
    fields: {
      ...beside,
      ...Object.fromEntries(
        Object.entries(fields).map(([field, described]) => [
          capital(field),
          partOf(`${name}_${capital(field)}`, field, described),
        ]),
      ),
    },
  });
}

/** Groups are types of their own; maps of groups are lists of their values with the key as Name. */
function partOf(
  name: string,
  field: string,
  described: Field,
): GraphQLFieldConfig<unknown, unknown> {
  const { description } = described;
  if (described.type !== "object") {
    return { type: scalarOf(described), description, resolve: (value) => at(value, field) };
  }
  if (described.properties !== undefined) {
    const type = groupType(name, description, described.properties);
    return { type, description, resolve: (value) => at(value, field) };
  }
  const of = described.additionalProperties;
  if (of?.type !== "object" || of.properties === undefined) {
    return { type: JsonMap, description, resolve: (value) => at(value, field) };
  }
  const key = { Name: { type: GraphQLString, description: "Its key" } };
  const entry = groupType(name, of.description, of.properties, key);
  return {
    type: new GraphQLList(new GraphQLNonNull(entry)),
    description,
    resolve: (value) =>
      Object.entries(at(value, field) ?? {}).map(([Name, each]) => ({
        Name,
        ...(each as object),
      })),
  };
}

function childFields(
  kind: NexusKind,
  typeOf: (kind: NexusKind) => GraphQLObjectType,
  reader: ChildReader,
): GraphQLFieldConfigMap<NexusObject, GraphqlCaller> {
  const fields: Record<string, Config> = {};
  for (const { field, kind: child } of CHILDREN[kind.kind]) {
    const type = typeOf(child);
    if (child.isSingleton) {
      fields[field] = {
        type: new GraphQLNonNull(type),
        description: child.description,
        extensions: { notes: { cost: 1, isCall: true } satisfies FieldNotes },
        resolve: (_, __, caller) => reader.one(child, caller),
      };
      continue;
    }
    fields[field] = {
      type: new GraphQLList(new GraphQLNonNull(type)),
      description: `${child.description} All of them, or the one with this Id`,
      args: { Id: { type: GraphQLID, description: "The name given by its creator" }, ...selectors },
      extensions: {
        notes: {
          cost: LIST_COST,
          isCall: true,
          size: ROWS,
          oneArgument: "Id",
        } satisfies FieldNotes,
      },
      async resolve(parent, args, caller, { fieldNodes }) {
        const Items = await reader.many(parent, child, { ...(args as ManyAsked), caller });
        caller.checkSize({ Items }, ROWS, fieldNodes[0]);
        return Items;
      },
    };
    fields[`${field}Page`] = pageField(child, type, reader);
  }
  return fields;
}

function pageField(child: NexusKind, type: GraphQLObjectType, reader: ChildReader): Config {
  return {
    type: new GraphQLObjectType({
      name: `${typeName(child)}_Page`,
      description: `Some of many: ${child.description}`,
      fields: {
        Items: { type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(type))) },
        Continue: {
          type: GraphQLString,
          description: "For the next page; absent: this was the last",
        },
      },
    }),
    description: `${child.description} One page of them; it may be short and still have a next one`,
    args: {
      Limit: { type: Int64, description: "How many at most; default 100" },
      Continue: { type: GraphQLString, description: "Continue of the page before" },
      ...selectors,
    },
    extensions: {
      notes: { cost: LIST_COST, isCall: true, sizeArgument: "Limit" } satisfies FieldNotes,
    },
    resolve: (parent, args, caller) =>
      reader.page(parent, child, { ...(args as PageAsked), caller }),
  };
}
