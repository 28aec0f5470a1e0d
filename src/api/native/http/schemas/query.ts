import type { DescMessage } from "@bufbuild/protobuf";
import { Type } from "typebox";
import { invalid } from "../../../../lib/errors.ts";
import { fieldsOf } from "../../../../wire/descriptors.ts";
import { propertyOf } from "./derived.ts";

/** The name of a field in a query: each value of a list or map is a separate parameter. */
const IN_QUERY = { states: "state", labels: "label" } as const satisfies Readonly<
  Record<string, string>
>;
const FIELDS: ReadonlyMap<string, string> = new Map(
  Object.entries(IN_QUERY).map(([field, name]) => [name, field]),
);

const PAIRS = {
  type: "array",
  items: { type: "string", pattern: "^[^=]+=" },
  description: "name=value; all of these",
} as const;

/** The fields of a request as query parameters, without those of its path; all are optional. */
export function querySchema<Asked>(desc: DescMessage, ...omit: readonly string[]) {
  const fields = fieldsOf(desc).filter(({ jsonName }) => !omit.includes(jsonName));
  return Type.Unsafe<InQuery<Asked>>({
    type: "object",
    properties: Object.fromEntries(
      fields.map((field) => [
        (IN_QUERY as Readonly<Record<string, string>>)[field.jsonName] ?? field.jsonName,
        field.fieldKind === "map" ? PAIRS : propertyOf(field),
      ]),
    ),
    additionalProperties: false,
  });
}

/** A query that was checked by its schema; `fromQuery` reads it. */
export type InQuery<Asked> = Readonly<Record<string, unknown>> & { readonly asks?: Asked };

/** The values of a query, under the names of the fields of its request. */
export function fromQuery<Asked>(query: InQuery<Asked>): Asked {
  const entries = Object.entries(query).map(([name, value]) => {
    if (!Array.isArray(value)) return [name, value]; // the `state` of a filter of nodes, which has one value
    const values = value as readonly string[];
    return [FIELDS.get(name) ?? name, name === IN_QUERY.labels ? fromPairs(values, name) : values];
  });
  return Object.fromEntries(entries) as Asked;
}

function fromPairs(pairs: readonly string[], name: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((text) => {
      const at = text.indexOf("=");
      if (at >= 1) return [text.slice(0, at), text.slice(at + 1)];
      throw invalid(name, `${JSON.stringify(text.slice(0, 40))} is not name=value`);
    }),
  );
}
