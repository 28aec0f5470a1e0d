import { AppError, invalid } from "../../lib/errors.ts";
import { nearest } from "../../lib/nearest.ts";
import { parseYamlTree, type Position, positionAt, toPlain } from "../../lib/yaml/yaml-tree.ts";
import { limits } from "../../limits.ts";
import { type Expression, parseAssignment, parseExpression, variable } from "./expression.ts";

/** Steps to apply in order; when no cluster remains, the next priority is tried. */
export interface Priority {
  readonly priority: number;
  readonly steps: readonly PriorityStep[];
}

export type PriorityStep =
  | { readonly kind: "filter"; readonly expression: Expression }
  | { readonly kind: "calc"; readonly name: string; readonly expression: Expression }
  | { readonly kind: "sort"; readonly sign: 1 | -1; readonly expression: Expression }
  | { readonly kind: "select"; readonly which: "first" | "last" | "random" };

const STEPS = ["filter", "calc", "sort_ascending", "sort_descending", "select"] as const;

/**
 * Validates a list of {priority, steps: [{filter | calc | sort_ascending | sort_descending | select:
 * argument}]} completely, and sorts it. As in rainbow, the list may be a text of YAML.
 */
export function parsePriorities(value: unknown, field = "priorities"): readonly Priority[] {
  return typeof value === "string" ? parseText(value, field) : parseList(value, field);
}

const BOUNDS = {
  charsMax: limits.selectCharsMax,
  depthMax: limits.selectOptionsDepthMax,
  valuesMax: limits.plainValuesMax,
} as const;

function parseText(text: string, field: string): readonly Priority[] {
  const parsed = parseYamlTree(text, BOUNDS);
  if (parsed.kind === "broken") throw invalid(field, `${placeOf(parsed.at)}: ${parsed.message}`);
  try {
    return parseList(toPlain(parsed.tree), field);
  } catch (error) {
    if (!(error instanceof AppError) || error.field?.startsWith(field) !== true) throw error;
    const at = positionAt(parsed.tree, error.field.slice(field.length));
    throw invalid(error.field, `${placeOf(at)}: ${error.problem}`);
  }
}

const placeOf = ({ line, column }: Position): string => `line ${line}, column ${column}`;

function parseList(value: unknown, field: string): readonly Priority[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > limits.prioritiesMax) {
    throw invalid(field, `must be a list of 1 to ${limits.prioritiesMax} priorities`);
  }
  return (value as unknown[])
    .map((each, at) => parsePriority(each, `${field}[${at}]`))
    .sort((one, other) => one.priority - other.priority);
}

function parsePriority(value: unknown, field: string): Priority {
  const { priority, steps } = recordOf(value, field);
  if (typeof priority !== "number" || !Number.isSafeInteger(priority)) {
    throw invalid(`${field}.priority`, "must be a whole number");
  }
  if (!Array.isArray(steps) || steps.length === 0 || steps.length > limits.stepsMax) {
    throw invalid(`${field}.steps`, `must be a list of 1 to ${limits.stepsMax} steps`);
  }
  const parsed = (steps as unknown[]).map((step, at) => parseStep(step, `${field}.steps[${at}]`));
  return { priority, steps: parsed };
}

function parseStep(value: unknown, field: string): PriorityStep {
  const entries = Object.entries(recordOf(value, field));
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) {
    throw invalid(field, `must have exactly one of ${STEPS.join(", ")}`);
  }
  const [name, raw] = entry;
  const kind = STEPS.find((known) => known === name);
  if (kind === undefined) {
    const meant = nearest(name, STEPS);
    const hint = meant === undefined ? `there are ${STEPS.join(", ")}` : `did you mean ${meant}?`;
    throw invalid(field, `${JSON.stringify(name.slice(0, 40))} is not a step; ${hint}`);
  }
  if (typeof raw !== "string" && typeof raw !== "number" && typeof raw !== "boolean") {
    throw invalid(`${field}.${name}`, "must be a text");
  }
  const text = String(raw).trim();
  const at = `${field}.${name}`;
  switch (kind) {
    case "filter":
      return { kind, expression: parseExpression(text, at) };
    case "calc":
      return { kind, ...parseAssignment(text, at) };
    case "select":
      if (text !== "first" && text !== "last" && text !== "random") {
        throw invalid(
          at,
          `must be first, last or random, not ${JSON.stringify(text.slice(0, 40))}`,
        );
      }
      return { kind, which: text };
    case "sort_ascending":
    case "sort_descending": {
      // By custom a name is written here, with dashes; anything else is an expression.
      const isName = /^[A-Za-z_][\w.-]*$/.test(text);
      const expression = isName ? variable(text) : parseExpression(text, at);
      return { kind: "sort", sign: kind === "sort_ascending" ? 1 : -1, expression };
    }
  }
}

function recordOf(value: unknown, field: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw invalid(field, "must be an object");
}
