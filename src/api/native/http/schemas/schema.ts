import { type Static, Type, type TObject, type TProperties, type TSchema } from "typebox";

// Shorthands for the schemas of routes. Objects are closed: unknown fields are rejected.

export const object = <Fields extends TProperties>(
  fields: Fields,
  options: { readonly $id?: string; readonly description?: string } = {},
): TObject<Fields> => Type.Object(fields, { additionalProperties: false, ...options });

export const optional = Type.Optional;
export const list = <Items extends TSchema>(
  items: Items,
  options: { readonly description?: string; readonly maxItems?: number; examples?: unknown } = {},
) => Type.Unsafe<readonly Static<Items>[]>(Type.Array(items, options));
export const flag = (description: string) => Type.Boolean({ description });
export const text = (description: string, options: { readonly examples?: string[] } = {}) =>
  Type.String({ description, ...options });

/** One of some words. JSON Schema's `enum`, because a union of constants gives poor messages. */
export const oneOf = <Word extends string>(words: readonly Word[], description: string) =>
  Type.Unsafe<Word>(Type.String({ enum: [...words], description }));

/** A schema of the document's components, by its name. */
export const named = <Schema extends TSchema>(schema: Schema & { readonly $id?: string }) =>
  Type.Unsafe<Static<Schema>>({ $ref: `${schema.$id ?? ""}#` });
