import type { DescMessage, DescMethod, DescMethodUnary } from "@bufbuild/protobuf";
import { GraphQLNonNull, GraphQLObjectType, GraphQLSchema } from "graphql";
import { Busbar, WatchEventSchema, WatchRequestSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import { docs } from "../../../gen/busbar/v1/docs.ts";
import { invariant } from "../../../lib/invariant.ts";
import { limits } from "../../../limits.ts";
import type { WatchEventView } from "../../../server/views/views.ts";
import { TypeBook } from "../../../wire/graphql-types.ts";
import { fromJson } from "../../../wire/read-json.ts";
import { FIELD_RULES } from "../field-rules.ts";
import { fromWatch } from "../grpc/translate.ts";
import { eventJson } from "../http/sse.ts";
import type { FieldNotes, GraphqlExtension } from "../../web/graphql-extension.ts";
import type { Fields, GraphqlContext } from "./context.ts";
import { LINKS, type RowLink } from "./links.ts";
import { type Call, METHODS } from "./methods.ts";
import { outputField } from "./output-field.ts";

type Field = Fields[string];
type OwnFields = Record<keyof GraphqlExtension, Fields>;
type OwnTypes = TypeBook<GraphqlContext>;
type AnyCall = Call<DescMessage, DescMessage>;

/**
 * The schema of Busbar's own model: types are the messages of the .proto files, fields of queries and mutations their methods, and the
 * additions of other doors.
 */
export function createSchema(extensions: readonly GraphqlExtension[] = []): GraphQLSchema {
  const own = ownFields();
  const all = (part: keyof GraphqlExtension): Fields =>
    Object.assign({}, own[part], ...extensions.map((extension) => extension[part]));
  const root = (name: string, part: keyof GraphqlExtension, description: string) =>
    new GraphQLObjectType({ name, description, fields: all(part) });
  return new GraphQLSchema({
    description: "Busbar: jobs, tasks, nodes, clusters and groups",
    query: root("Query", "query", "Queries"),
    mutation: root("Mutation", "mutation", "Changes; each is durable when it is answered"),
    subscription: root("Subscription", "subscription", "Changes as they happen"),
  });
}

function ownFields(): OwnFields {
  const book: OwnTypes = new TypeBook<GraphqlContext>({
    docs,
    rules: FIELD_RULES,
    // Batches are for wires that frame events.
    omit: ["busbar.v1.WatchRequest.batches", "busbar.v1.WatchEvent.batch"],
    linksOf: (desc) => ({
      ...Object.fromEntries(
        LINKS.filter(({ on }) => on === desc).map((link) => [link.name, linkField(book, link)]),
      ),
      ...(desc.typeName === "busbar.v1.Task" ? { output: outputField } : {}),
    }),
  });
  const fields: OwnFields = { query: {}, mutation: {}, subscription: {} };
  for (const name of Object.keys(METHODS) as (keyof typeof METHODS)[]) {
    const method: DescMethodUnary = Busbar.method[name];
    const { kind } = callOf(method);
    fields[kind][fieldName(method, kind)] = methodField(book, method);
  }
  Object.assign(fields.subscription, watchFields(book));
  return fields;
}

function callOf({ localName }: DescMethod): AnyCall {
  const call = (METHODS as Readonly<Record<string, unknown>>)[localName];
  invariant(call !== undefined, `there is no way to call ${localName}`);
  return call as AnyCall;
}

/** GetJob is `job` and ListJobs `jobs`: queries name resources. Other methods keep their names. */
function fieldName({ localName }: DescMethod, kind: AnyCall["kind"]): string {
  const thing = kind === "query" ? /^(?:get|list)([A-Z])(.*)$/.exec(localName) : null;
  return thing === null ? localName : `${thing[1]?.toLowerCase()}${thing[2]}`;
}

function notesOf(method: DescMethodUnary, { cost }: AnyCall): FieldNotes {
  const names = method.input.fields.map(({ jsonName }) => jsonName);
  const sizeArgument = ["pageSize", "max"].find((name) => names.includes(name));
  const isMany = method.output.fields.some(({ fieldKind }) => fieldKind === "list");
  return {
    cost,
    isCall: true,
    ...(sizeArgument === undefined
      ? isMany && names.length === 0 && { size: limits.graphqlRowsSize }
      : { sizeArgument }),
  };
}

function methodField(book: OwnTypes, method: DescMethodUnary): Field {
  const call = callOf(method);
  const notes = notesOf(method, call);
  return {
    // A failed field does not affect the others of the request.
    type: book.outputOf(method.output),
    description: book.describe(`${Busbar.typeName}.${method.name}`) ?? null,
    args: book.argumentsOf(method.input),
    extensions: { notes },
    async resolve(_, args, context, { fieldNodes }) {
      const answer = await context.call(method, call, args);
      if (notes.size !== undefined) context.checkSize(answer as object, notes.size, fieldNodes[0]);
      return answer;
    },
  };
}

function linkField(book: OwnTypes, { method: name, bind, description }: RowLink): Field {
  const method = Busbar.method[name];
  const call = callOf(method);
  return {
    type: book.outputOf(method.output),
    description,
    args: book.argumentsOf(method.input, Object.keys(bind)),
    extensions: { notes: notesOf(method, call) },
    async resolve(row, args, context) {
      const bound = Object.entries(bind).map(([to, of]) => [to, (row as Row)[of]] as const);
      if (bound.some(([, value]) => value === undefined)) return null;
      return context.call(method, call, { ...args, ...Object.fromEntries(bound) });
    },
  };
}

type Row = Readonly<Record<string, unknown>>;

/** `watch` for everything, and a field for each kind of watched row. */
function watchFields(book: OwnTypes): Fields {
  const describe = (name: string) => book.describe(`${Busbar.typeName}.${name}`) ?? null;
  const args = book.argumentsOf(WatchRequestSchema);
  const ask = (given: object) => fromWatch(fromJson(WatchRequestSchema, present(given)));
  const watch: Field = {
    type: new GraphQLNonNull(book.outputOf(WatchEventSchema)),
    description: describe("Watch"),
    args,
    extensions: { notes: { watch: ask } satisfies FieldNotes },
    resolve: (event) => eventJson(event as WatchEventView),
  };
  const changed = WatchEventSchema.fields.flatMap((member): [string, Field][] => {
    const kinds = `${member.jsonName}s`;
    if (member.fieldKind !== "message" || args[kinds] === undefined) return [];
    const { afterRevision, jobId, group } = args;
    const isOfJobs = ["job", "task"].includes(member.jsonName);
    const own = { afterRevision, ...(isOfJobs && { jobId, group }) } as typeof args;
    const notes: FieldNotes = { watch: (given) => ask({ ...given, [kinds]: true }) };
    const resolve = (event: unknown): unknown =>
      (event as Row)["kind"] === member.jsonName ? (event as Row)[member.jsonName] : null;
    const type = book.outputOf(member.message);
    const description = `Each ${member.jsonName} that changes, with its new state`;
    return [
      [
        `${member.jsonName}Changed`,
        { type, description, args: own, extensions: { notes }, resolve },
      ],
    ];
  });
  return { watch, ...Object.fromEntries(changed) };
}

const present = (given: object): object =>
  Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== null && value !== undefined),
  );
