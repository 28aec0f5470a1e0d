import type { DescMessage, MessageShape } from "@bufbuild/protobuf";

/** Every field must be named, so that a new one does not compile until it is set. */
type Total<M> = { readonly [Field in Exclude<keyof M, "$typeName" | "$unknown">]: M[Field] };

export const message = <Schema extends DescMessage>(
  schema: Schema,
  fields: Total<MessageShape<Schema>>,
): MessageShape<Schema> =>
  // In proto3 a message is its type's name and its fields. All are named here, so the library's `create` has no defaults to fill in field
  // by field.
  ({ $typeName: schema.typeName, ...fields }) as unknown as MessageShape<Schema>;

/** Times, sizes and counts are integers on the wire, whatever a clock returns. */
export const wide: {
  (value: number): bigint;
  (value: number | undefined): bigint | undefined;
} = ((value: number | undefined) =>
  value === undefined ? undefined : BigInt(Math.round(value))) as never;

export const wideAll = (amounts: Readonly<Record<string, number>>): Record<string, bigint> =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, wide(amount)]));
