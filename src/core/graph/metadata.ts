import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

/** A value that a requirement can test. */
export type Scalar = string | number | boolean;

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** JSON with sorted keys: equal values give equal texts. */
export function canonicalJson(value: unknown, field: string, depth = 0): string {
  if (depth > limits.metadataDepthMax) {
    throw invalid(field, `is nested more than ${limits.metadataDepthMax} deep`);
  }
  if (typeof value === "string" || typeof value === "boolean") return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw invalid(field, `must be a finite number, not ${value}`);
    return JSON.stringify(value);
  }
  if (value === null) return "null";
  const parts: string[] = [];
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) parts.push(canonicalJson(item, field, depth + 1));
    return `[${parts.join(",")}]`;
  }
  if (!isRecord(value)) throw invalid(field, `must be JSON, not a ${typeof value}`);
  for (const key of Object.keys(value).sort()) {
    if (value[key] === undefined) continue;
    parts.push(`${JSON.stringify(key)}:${canonicalJson(value[key], field, depth + 1)}`);
  }
  return `{${parts.join(",")}}`;
}

/**
 * Every scalar of a vertex's metadata by its name; nested ones by their path
 * ("attributes.software"). A literal name wins over a path with the same spelling.
 */
export function scalarsOf(metadata: Readonly<Record<string, unknown>>): Map<string, Scalar> {
  const scalars = new Map<string, Scalar>();
  const collect = (record: Readonly<Record<string, unknown>>, prefix: string): void => {
    for (const [name, value] of Object.entries(record)) {
      if (isRecord(value)) collect(value, `${prefix}${name}.`);
      else if (isScalar(value)) scalars.set(prefix + name, value);
    }
  };
  collect(metadata, "");
  for (const [name, value] of Object.entries(metadata)) {
    if (isScalar(value)) scalars.set(name, value);
  }
  return scalars;
}

const isScalar = (value: unknown): value is Scalar =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";
