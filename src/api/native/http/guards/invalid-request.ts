import type { FastifySchemaValidationError } from "fastify";
import { type AppError, invalid } from "../../../../lib/errors.ts";
import { nearest } from "../../../../lib/nearest.ts";

/** An error of ajv about a value, with its `verbose` option. */
export interface SchemaError extends FastifySchemaValidationError {
  readonly data?: unknown;
  readonly parentSchema?: { readonly properties?: Readonly<Record<string, unknown>> };
}

/** Says which field is wrong, as the caller wrote it, and what would be right. */
export function toInvalid(errors: readonly SchemaError[], checked: unknown): AppError {
  // For a choice between schemas ajv reports the wrong field first, then that the choice failed.
  const [error] = errors;
  if (error === undefined) return invalid("body", "does not fit");
  const path = fieldPath(error.instancePath, checked);
  const { params } = error;
  switch (error.keyword) {
    case "additionalProperties":
      return unknownField(path, String(params["additionalProperty"]), error);
    case "required":
      return invalid(join(path, String(params["missingProperty"])), "is missing");
    case "type":
      return invalid(
        path || "body",
        `must be ${typeWords(params["type"])}, not ${show(error.data)}`,
      );
    case "enum":
      return notAllowed(path, error.data, params["allowedValues"] as readonly string[]);
    case "maxItems":
      return invalid(path, `must have at most ${String(params["limit"])} items`);
    default:
      return invalid(path || "body", error.message ?? "does not fit");
  }
}

function unknownField(path: string, name: string, error: SchemaError): AppError {
  const known = Object.keys(error.parentSchema?.properties ?? {});
  const meant = nearest(name, known);
  const hint = meant === undefined ? `known are ${known.join(", ")}` : `did you mean ${meant}?`;
  return invalid(join(path, name.slice(0, 80)), `is not known; ${hint}`);
}

function notAllowed(path: string, data: unknown, allowed: readonly string[]): AppError {
  const meant = typeof data === "string" ? nearest(data, allowed) : undefined;
  const hint = meant === undefined ? `use ${allowed.join(", ")}` : `did you mean ${meant}?`;
  return invalid(path, `${show(data)} is not one of its values; ${hint}`);
}

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

/** "/jobs/3/env/PATH" to "jobs[3].env.PATH". Only the value distinguishes an index from a name. */
function fieldPath(pointer: string, checked: unknown): string {
  let path = "";
  let at = checked;
  for (const escaped of pointer.split("/").slice(1)) {
    const name = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
    path = Array.isArray(at) ? `${path}[${name}]` : join(path, name);
    at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[name] : undefined;
  }
  return path;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  integer: "a whole number",
  number: "a number",
  string: "a text",
  array: "a list",
  object: "an object",
  boolean: "true or false",
};

const typeWords = (type: unknown): string =>
  [type]
    .flat()
    .map((word) => TYPE_WORDS[String(word)] ?? String(word))
    .join(" or ");

function show(value: unknown): string {
  if (value === undefined) return "absent";
  const shown = JSON.stringify(value);
  return shown.length > 40 ? `${shown.slice(0, 40)}…` : shown;
}
