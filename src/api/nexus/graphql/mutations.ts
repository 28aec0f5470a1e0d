import {
  type GraphQLArgumentConfig,
  GraphQLBoolean,
  GraphQLID,
  GraphQLNonNull,
  GraphQLString,
} from "graphql";
import { Int64 } from "../../../wire/graphql-scalars.ts";
import type { FieldNotes, GraphqlFields } from "../../web/graphql-extension.ts";
import { capital } from "../model/children.ts";
import { specFields } from "../model/fields.ts";
import { ALL_KINDS, type NexusKind } from "../model/kinds.ts";
import { namedKinds, type Path } from "../model/names.ts";
import { notFound, type Reader } from "../tree/reader.ts";
import type { TreeWriter } from "../write/tree-writer.ts";
import { type KindTypes, typeName } from "./types.ts";

type Arguments = Readonly<Record<string, unknown>>;

const notes: FieldNotes = { cost: 50, isCall: true };

/** An argument for the name of each parent, then its own. */
const nameArguments = (kind: NexusKind): Record<string, GraphQLArgumentConfig> =>
  Object.fromEntries(
    namedKinds(kind).map((one) => [
      one === kind ? "Id" : one.kind,
      { type: new GraphQLNonNull(GraphQLID), description: `Name of the ${one.kind}` },
    ]),
  );

const pathIn = (kind: NexusKind, args: Arguments): Path =>
  namedKinds(kind).map((one) => String(args[one === kind ? "Id" : one.kind]));

/** Creates and deletes objects of each named kind: `create_jobscheduler_Job`, `delete_jobscheduler_Job`. */
export function mutationFields(
  types: KindTypes,
  reader: Reader,
  writer: TreeWriter,
): GraphqlFields {
  const kinds = ALL_KINDS.filter(({ isSingleton }) => !isSingleton);
  return Object.assign({}, ...kinds.map((kind) => fieldsOf(kind, { types, reader, writer })));
}

function fieldsOf(
  kind: NexusKind,
  {
    types,
    reader,
    writer,
  }: { readonly types: KindTypes; readonly reader: Reader; readonly writer: TreeWriter },
): GraphqlFields {
  const spec = Object.entries(specFields(kind)).filter(([name]) => !name.endsWith("Gvk"));
  return {
    [`create_${typeName(kind)}`]: {
      type: types[kind.kind],
      description: `Creates a ${kind.kind}, and its parents if they are missing`,
      args: {
        ...nameArguments(kind),
        ...Object.fromEntries(
          spec.map(([name, { type, description }]) => [
            capital(name),
            { type: type === "integer" ? Int64 : GraphQLString, description },
          ]),
        ),
      },
      extensions: { notes },
      async resolve(_, args: Arguments, { operations }) {
        const path = pathIn(kind, args);
        const given = spec.flatMap(([name]) => {
          const value = args[capital(name)];
          return value === undefined || value === null ? [] : [[name, value] as const];
        });
        await writer.create(operations, kind, path, Object.fromEntries(given));
        const ref = reader.tree.at(kind, path);
        if (ref === undefined) throw notFound(kind, path.at(-1) ?? "");
        return reader.show(operations, ref);
      },
    },
    [`delete_${typeName(kind)}`]: {
      type: GraphQLBoolean,
      description: `Deletes a ${kind.kind} with all objects below it`,
      args: nameArguments(kind),
      extensions: { notes },
      async resolve(_, args: Arguments, { operations }) {
        await writer.remove(operations, kind, pathIn(kind, args));
        return true;
      },
    },
  };
}
