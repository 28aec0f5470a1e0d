import { basename } from "node:path";
import { invalid } from "../lib/errors.ts";
import { firstLine, parseYamlDocuments } from "../lib/yaml-documents.ts";
import { limits } from "../limits.ts";

/**
 * Options of a strategy from YAML or JSON, as JSON text: an object, or a list, which is rules. As
 * rainbow writes them, an object may have its priorities as a text of YAML.
 */
export function readSelectOptions(content: string, path: string): string {
  const file = basename(path);
  const value = plainOf(content, file);
  if (Array.isArray(value)) return JSON.stringify({ priorities: value });
  if (typeof value !== "object" || value === null) {
    throw invalid(file, "must be an object of options, or a list of priorities");
  }
  const { priorities } = value as { readonly priorities?: unknown };
  if (typeof priorities !== "string") return JSON.stringify(value);
  return JSON.stringify({ ...value, priorities: plainOf(priorities, `${file}: priorities`) });
}

const ALIASES_MAX = 100;

function plainOf(content: string, file: string): unknown {
  const parsed = parseYamlDocuments(content, limits.selectOptionsDepthMax);
  if (parsed === undefined) {
    throw invalid(file, `is nested more than ${limits.selectOptionsDepthMax} deep`);
  }
  const [document, ...others] = parsed.documents;
  if (document === undefined || others.length > 0) throw invalid(file, "must be one document");
  const [problem] = document.errors;
  if (problem !== undefined) {
    const { line, col } = parsed.lines.linePos(problem.pos[0]);
    throw invalid(`${file}:${line}:${col}`, firstLine(problem.message));
  }
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch (error) {
    throw invalid(file, error instanceof Error ? firstLine(error.message) : "cannot be read");
  }
}
