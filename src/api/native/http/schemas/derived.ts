import type { DescField, DescMessage, MessageShape } from "@bufbuild/protobuf";
import { Type } from "typebox";
import { Busbar } from "../../../../gen/busbar/v1/busbar_pb.ts";
import { docs } from "../../../../gen/busbar/v1/docs.ts";
import type { JsonOf } from "../../../../wire/json-shape.ts";
import { SchemaBook } from "../../../../wire/schema.ts";
import { FIELD_RULES } from "../../field-rules.ts";

// Schemas of the wire's messages, made from the .proto files, their comments and the core's rules.

const asked = new Set<string>();
for (const { input } of Busbar.methods) reach(input);

function reach({ typeName, fields }: DescMessage): void {
  if (asked.has(typeName)) return;
  asked.add(typeName);
  for (const { message } of fields) if (message !== undefined) reach(message);
}

const book = new SchemaBook({
  docs,
  rules: FIELD_RULES,
  refOf: (name) => `${name}#`,
  isAnswer: (typeName) => !asked.has(typeName),
});

/** A message that a route sends or accepts, by its name. */
export const message = <Desc extends DescMessage>(desc: Desc) =>
  Type.Unsafe<JsonOf<MessageShape<Desc>>>(book.refTo(desc));

/** Optional fields of a caller: flags that are false. */
type Given<T> = { readonly [Key in keyof T as T[Key] extends boolean ? never : Key]: T[Key] } & {
  readonly [Key in keyof T as T[Key] extends boolean ? Key : never]?: T[Key];
};

/** The fields of a request that its path does not have. */
export const requestBody = <Desc extends DescMessage, Omitted extends string = never>(
  desc: Desc,
  ...omit: readonly Omitted[]
) => Type.Unsafe<Given<Omit<JsonOf<MessageShape<Desc>>, Omitted>>>(book.objectOf(desc, omit));

/** One field of a message, as a parameter of a path or a query. */
export function field(desc: DescMessage, name: string) {
  const found = desc.fields.find(({ jsonName }) => jsonName === name);
  if (found === undefined) throw new Error(`${desc.typeName} has no field ${name}`);
  return book.propertyOf(found);
}

export const propertyOf = (one: DescField) => book.propertyOf(one);

/** All referenced schemas, by name, for the components of the document. */
export const components = (): readonly object[] =>
  Object.entries(book.definitions).map(([$id, schema]) => ({ $id, ...schema }));
