interface QuerySchema {
  readonly properties?: Readonly<Record<string, PropertySchema>>;
}
interface PropertySchema {
  readonly type?: unknown;
  readonly items?: { readonly enum?: unknown };
}

/**
 * A query has only texts; this converts them to the types of the schema. An invalid value stays a text, which the validator rejects:
 * nothing is rounded or guessed.
 */
export function coerceQuery(query: Readonly<Record<string, unknown>>, schema: QuerySchema) {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const known = Object.hasOwn(schema.properties ?? {}, name);
      return [name, known ? coerce(value, schema.properties?.[name] ?? {}) : value];
    }),
  );
}

function coerce(value: unknown, { type, items }: PropertySchema): unknown {
  if (type === "array") {
    const values = [value].flat();
    // Words may also come as one text: state=pending,running.
    return items?.enum === undefined
      ? values
      : values.flatMap((each) => (typeof each === "string" ? each.split(",") : [each]));
  }
  if (typeof value !== "string") return value;
  if (type === "integer" && /^-?\d{1,16}$/.test(value) && Number.isSafeInteger(Number(value))) {
    return Number(value);
  }
  if (type === "boolean" && value === "true") return true;
  if (type === "boolean" && value === "false") return false;
  return value;
}
