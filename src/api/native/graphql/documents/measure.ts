import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  getNullableType,
  GraphQLError,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  print,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
} from "graphql";
import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { FieldNotes } from "../../../web/graphql-extension.ts";
import { introspectionSizes } from "./introspection-sizes.ts";

export interface Measured {
  readonly cost: number;
  /** The cost of introspection, which makes no calls. */
  readonly introspectionCost: number;
  /** By the first node of each field. */
  readonly costs: ReadonlyMap<FieldNode, number>;
  /** The first root field: the only one of a subscription. */
  readonly first: RootField | undefined;
}

export interface RootField {
  readonly node: FieldNode;
  readonly field: GraphQLField<unknown, unknown>;
}

interface Measuring {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly variables: Readonly<Record<string, unknown>>;
}

/**
 * The cost of an operation, before it runs. Walks it as it would be executed: fields of one name together, each fragment at each use.
 * Throws `exhausted` beyond a limit; the walk itself has one.
 */
export const measure = (schema: GraphQLSchema, of: Measuring): Measured =>
  new Walk(schema, of).run();

type Sets = readonly SelectionSetNode[];

class Walk {
  readonly #schema: GraphQLSchema;
  readonly #of: Measuring;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #costs = new Map<FieldNode, number>();
  readonly #sizes: ReadonlyMap<string, number>;
  #looks = 0;
  #introspectionCost = 0;
  #first: RootField | undefined;

  constructor(schema: GraphQLSchema, of: Measuring) {
    this.#schema = schema;
    this.#of = of;
    this.#fragments = new Map(
      of.document.definitions.flatMap((each) =>
        each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each] as const] : [],
      ),
    );
    this.#sizes = introspectionSizes(schema);
  }

  run(): Measured {
    const { operation } = this.#of;
    const root = this.#schema.getRootType(operation.operation);
    const cost = root ? this.#costOf(root, [operation.selectionSet], { depth: 1 }) : 0;
    const isEvent = operation.operation === OperationTypeNode.SUBSCRIPTION;
    limit(cost, isEvent ? limits.graphqlEventCostMax : limits.graphqlCostMax, "the request costs");
    limit(
      this.#introspectionCost,
      limits.graphqlIntrospectionCostMax,
      "the introspection part of the request costs",
    );
    return {
      cost,
      introspectionCost: this.#introspectionCost,
      costs: this.#costs,
      first: this.#first,
    };
  }

  /** For one object of this type. */
  #costOf(
    type: GraphQLObjectType,
    sets: Sets,
    at: { readonly depth: number; readonly size?: number | undefined },
  ): number {
    const isMeta = type.name.startsWith("__");
    const depthMax = isMeta ? limits.graphqlIntrospectionDepthMax : limits.graphqlDepthMax;
    if (at.depth > depthMax) throw tooMuch(`fields are nested more than ${depthMax} deep`);
    let sum = 0;
    for (const nodes of this.#collect(sets).values()) {
      const [node] = nodes;
      const field = node && this.#fieldOf(type, node.name.value);
      if (field === undefined || node === undefined) continue;
      mustAgree(nodes);
      if (at.depth === 1) this.#first ??= { node, field };
      const cost = this.#costOfField(type, field, nodes, at);
      this.#costs.set(node, Math.max(cost, this.#costs.get(node) ?? 0));
      if (field === SchemaMetaFieldDef || field === TypeMetaFieldDef) {
        this.#introspectionCost += cost;
      } else {
        sum += cost;
      }
    }
    return sum;
  }

  #costOfField(
    type: GraphQLObjectType,
    field: GraphQLField<unknown, unknown>,
    nodes: readonly FieldNode[],
    at: { readonly depth: number; readonly size?: number | undefined },
  ): number {
    const notes = (field.extensions["notes"] ?? {}) as FieldNotes;
    if (notes.isCall === true && this.#of.operation.operation === OperationTypeNode.SUBSCRIPTION) {
      throw new AppError(
        "invalid_argument",
        `${field.name} is not part of events; read it with a query`,
        { field: "query" },
      );
    }
    const own = 1 + (notes.cost ?? 0);
    const inner = getNamedType(field.type);
    const below = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    if (below.length === 0 || !isObjectType(inner)) return own;
    const isList = isListType(getNullableType(field.type));
    const size = isList ? this.#sizeOf(type, field, nodes, at.size) : 1;
    const told = isList ? undefined : this.#told(notes, nodes);
    return own + size * this.#costOf(inner, below, { depth: at.depth + 1, size: told });
  }

  #sizeOf(
    type: GraphQLObjectType,
    field: GraphQLField<unknown, unknown>,
    nodes: readonly FieldNode[],
    told: number | undefined,
  ): number {
    const notes = (field.extensions["notes"] ?? {}) as FieldNotes;
    return (
      this.#told(notes, nodes) ??
      this.#sizes.get(`${type.name}.${field.name}`) ??
      told ??
      limits.graphqlListSize
    );
  }

  /** The lengths of the lists of a field or of its answer, as far as its arguments determine them. */
  #told(
    { sizeArgument, oneArgument, size }: FieldNotes,
    [node]: readonly FieldNode[],
  ): number | undefined {
    const argument = (name: string) => node?.arguments?.find((each) => each.name.value === name);
    if (oneArgument !== undefined && argument(oneArgument) !== undefined) return 1;
    if (sizeArgument === undefined) return size;
    const given = argument(sizeArgument)?.value;
    const value =
      given?.kind === Kind.INT
        ? Number(given.value)
        : given?.kind === Kind.VARIABLE
          ? (this.#of.variables[given.name.value] ?? this.#defaultOf(given.name.value))
          : undefined;
    return typeof value === "number" && value >= 0 ? value : (size ?? limits.pageSizeDefault);
  }

  #defaultOf(variable: string): number | undefined {
    const declared = this.#of.operation.variableDefinitions?.find(
      (each) => each.variable.name.value === variable,
    )?.defaultValue;
    return declared?.kind === Kind.INT ? Number(declared.value) : undefined;
  }

  /** Fields by their names in the answer. Every type here is an object: type conditions make no difference. */
  #collect(sets: Sets): ReadonlyMap<string, readonly FieldNode[]> {
    const fields = new Map<string, FieldNode[]>();
    const seen = new Set<string>();
    const todo: SelectionSetNode[] = [...sets];
    for (let set = todo.shift(); set !== undefined; set = todo.shift()) {
      for (const selection of set.selections) {
        if (++this.#looks > limits.graphqlFieldsMax) {
          throw tooMuch(`it has more than ${limits.graphqlFieldsMax} fields`);
        }
        if (selection.kind === Kind.FIELD) {
          const name = selection.alias?.value ?? selection.name.value;
          const same = fields.get(name);
          if (same === undefined) fields.set(name, [selection]);
          else same.push(selection);
        } else if (selection.kind === Kind.INLINE_FRAGMENT) {
          todo.push(selection.selectionSet);
        } else if (!seen.has(selection.name.value)) {
          seen.add(selection.name.value);
          const fragment = this.#fragments.get(selection.name.value);
          if (fragment !== undefined) todo.push(fragment.selectionSet);
        }
      }
    }
    return fields;
  }

  #fieldOf(type: GraphQLObjectType, name: string): GraphQLField<unknown, unknown> | undefined {
    if (type === this.#schema.getQueryType()) {
      if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef;
      if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef;
    }
    return type.getFields()[name];
  }
}

/** One name in the answer is one field with one set of arguments. */
function mustAgree(nodes: readonly FieldNode[]): void {
  const [first] = nodes;
  if (first === undefined || nodes.length === 1) return;
  const shown = argumentsOf(first);
  const other = nodes.find(
    (node) => node.name.value !== first.name.value || argumentsOf(node) !== shown,
  );
  if (other === undefined) return;
  const name = first.alias?.value ?? first.name.value;
  throw new GraphQLError(
    `Fields "${name}" conflict: they ask for different things. Use different aliases.`,
    { nodes: [first, other] },
  );
}

const argumentsOf = (node: FieldNode): string =>
  (node.arguments ?? [])
    .map((argument) => print(argument))
    .sort()
    .join();

function limit(cost: number, max: number, what: string): void {
  if (cost > max) throw tooMuch(`${what} ${Math.ceil(cost)}, more than ${max}`);
}

const tooMuch = (why: string): AppError =>
  new AppError("exhausted", `${why}; request less at once, or smaller pages`, {
    field: "query",
  });
