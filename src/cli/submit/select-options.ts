import { basename } from "node:path";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { readPlainYaml } from "../yaml/plain-yaml.ts";

export type SelectOptions = Readonly<Record<string, unknown>>;

/** Options of a strategy from YAML or JSON: an object, or a list, which is rules. */
export function readSelectOptions(content: string, path: string): SelectOptions {
  const file = basename(path);
  return toSelectOptions(readPlainYaml(content, file, limits.selectOptionsDepthMax), file);
}

export function toSelectOptions(value: unknown, field: string): SelectOptions {
  if (Array.isArray(value)) return { priorities: value };
  if (typeof value === "object" && value !== null) return value as SelectOptions;
  throw invalid(field, "must be an object of options, or a list of priorities");
}
