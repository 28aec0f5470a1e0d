import { invalid } from "../../../lib/errors.ts";

/** A request of a client, as in GraphQL over HTTP. */
export interface GraphqlRequest {
  readonly query?: string | undefined;
  readonly operationName?: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  /** The hash of a document that the server may know. */
  readonly sha256?: string | undefined;
}

const KNOWN = ["query", "operationName", "variables", "extensions"];

export function requestOfBody(body: unknown): GraphqlRequest {
  const { query, operationName, variables, extensions = {}, ...others } = objectOf(body, "body");
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw invalid(unknown.slice(0, 80), `is not known; known are ${KNOWN.join(", ")}`);
  }
  return {
    query: textOf(query, "query"),
    operationName: textOf(operationName, "operationName") || undefined,
    variables: objectOf(variables ?? {}, "variables"),
    sha256: hashOf(objectOf(extensions ?? {}, "extensions")),
  };
}

/** In a URL, variables and extensions are JSON. */
export function requestOfQuery(given: Readonly<Record<string, unknown>>): GraphqlRequest {
  const parsed = (name: string): unknown => {
    const text = textOf(given[name], name);
    try {
      return text === undefined ? undefined : (JSON.parse(text) as unknown);
    } catch {
      throw invalid(name, "must be JSON");
    }
  };
  const { query, operationName } = given;
  const [variables, extensions] = [parsed("variables"), parsed("extensions")];
  return requestOfBody({ query, operationName, variables, extensions });
}

function hashOf({ persistedQuery }: Readonly<Record<string, unknown>>): string | undefined {
  if (persistedQuery === undefined) return undefined;
  const field = "extensions.persistedQuery";
  const { version, sha256Hash } = objectOf(persistedQuery, field);
  if (version !== 1) throw invalid(`${field}.version`, "must be 1");
  if (typeof sha256Hash === "string" && /^[0-9a-f]{64}$/.test(sha256Hash)) return sha256Hash;
  throw invalid(`${field}.sha256Hash`, "must have 64 hexadecimal digits in lower case");
}

function objectOf(value: unknown, field: string): Readonly<Record<string, unknown>> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isObject) return value as Readonly<Record<string, unknown>>;
  throw invalid(field, "must be an object");
}

function textOf(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  throw invalid(field, "must be a text");
}
