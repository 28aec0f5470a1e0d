import { type AppError, invalid } from "../../../lib/errors.ts";
import { nearest } from "../../../lib/nearest.ts";
import { limits } from "../../../limits.ts";
import { isPrintable } from "../../model/texts.ts";
import { isRecord } from "../metadata.ts";
import type { Condition, Requirement, ResourceChoice, ResourceRequest } from "./request.ts";
import { mustBe, quote } from "../vertex-table.ts";

const TREE_KEYS = [
  "type",
  "count",
  "unit",
  "isSlot",
  "isExclusive",
  "label",
  "requires",
  "with",
] as const;

const CONDITION_KEYS = {
  present: ["kind", "field"],
  "one-of": ["kind", "field", "values"],
  version: ["kind", "field", "min", "max"],
  number: ["kind", "field", "comparison", "value", "unit"],
} as const satisfies Record<Condition["kind"], readonly string[]>;

const COMPARISONS = ["<", "<=", "=", "!=", ">=", ">"] as const;

/**
 * Reads a choice of resources from JSON: a list of alternatives, each a list of trees. Optional
 * fields have defaults; everything else that does not match request.ts is rejected with its place.
 * `compileRequest` checks whether the numbers make sense together.
 */
export function readResourceChoice(value: unknown, field = "resources"): ResourceChoice {
  const alternatives = listOf(value, field, limits.requestAlternativesMax);
  if (alternatives.length === 0) throw invalid(field, "at least one alternative is needed");
  return alternatives.map((trees, at) => {
    const place = `${field}[${at}]`;
    if (isRecord(trees)) {
      throw invalid(place, "must be a list of trees: alternatives are lists in the list");
    }
    const budget = { verticesLeft: limits.requestVerticesMax };
    const all = listOf(trees, place, limits.requestVerticesMax);
    if (all.length === 0) throw invalid(place, "at least one tree is needed");
    return all.map((tree, index) => readTree(tree, `${place}[${index}]`, { depth: 1, budget }));
  });
}

interface Where {
  readonly depth: number;
  readonly budget: { verticesLeft: number };
}

function readTree(value: unknown, field: string, { depth, budget }: Where): ResourceRequest {
  if (depth > limits.requestDepthMax) {
    throw invalid(field, `is nested more than ${limits.requestDepthMax} deep`);
  }
  if (--budget.verticesLeft < 0) {
    throw invalid(
      field,
      `a job may request at most ${limits.requestVerticesMax} kinds of resources`,
    );
  }
  const tree = recordOf(value, field, TREE_KEYS);
  const inside = { depth: depth + 1, budget };
  return {
    type: textOf(tree.type, `${field}.type`, limits.graphTextLengthMax),
    count: tree.count === undefined ? 1 : numberOf(tree.count, `${field}.count`),
    unit: optionalText(tree.unit, `${field}.unit`, limits.unitLengthMax),
    isSlot: flagOf(tree.isSlot, `${field}.isSlot`),
    isExclusive: flagOf(tree.isExclusive, `${field}.isExclusive`),
    label: optionalText(tree.label, `${field}.label`, limits.graphTextLengthMax),
    requires: listOf(tree.requires ?? [], `${field}.requires`, limits.requirementsMax).map(
      (each, at) => readRequirement(each, `${field}.requires[${at}]`),
    ),
    with: listOf(tree.with ?? [], `${field}.with`, limits.requestVerticesMax).map((each, at) =>
      readTree(each, `${field}.with[${at}]`, inside),
    ),
  };
}

function readRequirement(value: unknown, field: string): Requirement {
  const { subsystem, conditions } = recordOf(value, field, ["subsystem", "conditions"]);
  const all = listOf(conditions, `${field}.conditions`, limits.requirementsMax);
  return {
    subsystem: textOf(subsystem, `${field}.subsystem`, limits.nameLengthMax),
    conditions: all.map((each, at) => readCondition(each, `${field}.conditions[${at}]`)),
  };
}

function readCondition(value: unknown, field: string): Condition {
  if (!isRecord(value)) throw invalid(field, mustBe("an object", value));
  const kind = wordOf(
    value["kind"],
    `${field}.kind`,
    Object.keys(CONDITION_KEYS) as Condition["kind"][],
  );
  checkKeys(value, field, CONDITION_KEYS[kind]);
  const name = textOf(value["field"], `${field}.field`, limits.graphTextLengthMax);
  const text = (key: string): string | undefined =>
    optionalText(value[key], `${field}.${key}`, limits.graphTextLengthMax);
  switch (kind) {
    case "present":
      return { kind, field: name };
    case "one-of": {
      const values = listOf(value["values"], `${field}.values`, limits.requirementsMax);
      if (values.length === 0) throw invalid(`${field}.values`, "at least one is needed");
      const read = values.map((each, at) =>
        textOf(each, `${field}.values[${at}]`, limits.graphTextLengthMax, "may be empty"),
      );
      return { kind, field: name, values: read };
    }
    case "version": {
      const [min, max] = [text("min"), text("max")];
      if (min === undefined && max === undefined) {
        throw invalid(field, "needs min, max or both");
      }
      return { kind, field: name, min, max };
    }
    case "number":
      return {
        kind,
        field: name,
        comparison: wordOf(value["comparison"], `${field}.comparison`, COMPARISONS),
        value: numberOf(value["value"], `${field}.value`),
        unit: optionalText(value["unit"], `${field}.unit`, limits.unitLengthMax),
      };
  }
}

function listOf(value: unknown, field: string, lengthMax: number): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(field, mustBe("a list", value));
  if (value.length > lengthMax) throw invalid(field, `at most ${lengthMax}, not ${value.length}`);
  return value as readonly unknown[];
}

function recordOf<Key extends string>(
  value: unknown,
  field: string,
  known: readonly Key[],
): Readonly<Partial<Record<Key, unknown>>> {
  if (!isRecord(value)) throw invalid(field, mustBe("an object", value));
  checkKeys(value, field, known);
  return value as Readonly<Partial<Record<Key, unknown>>>;
}

function checkKeys(
  value: Readonly<Record<string, unknown>>,
  field: string,
  known: readonly string[],
): void {
  const wrong = Object.keys(value).find((key) => !known.includes(key));
  if (wrong !== undefined) throw unknownKey(wrong, field, known);
}

function unknownKey(key: string, field: string, known: readonly string[]): AppError {
  const meant = nearest(key, known);
  const hint = meant === undefined ? `known are ${known.join(", ")}` : `did you mean ${meant}?`;
  return invalid(field, `${quote(key)} is not known; ${hint}`);
}

function textOf(
  value: unknown,
  field: string,
  lengthMax: number,
  empty: "may be empty" | "is refused" = "is refused",
): string {
  if (typeof value !== "string") throw invalid(field, mustBe("a text", value));
  if (value === "" && empty === "is refused") throw invalid(field, "must not be empty");
  if (value.length > lengthMax) throw invalid(field, `at most ${lengthMax} characters`);
  if (!isPrintable(value)) throw invalid(field, "must not have control characters");
  return value;
}

const optionalText = (value: unknown, field: string, lengthMax: number): string | undefined =>
  value === undefined ? undefined : textOf(value, field, lengthMax, "may be empty");

function numberOf(value: unknown, field: string): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw invalid(field, mustBe("a number", value));
}

function flagOf(value: unknown, field: string): boolean {
  if (value === undefined) return false;
  if (typeof value === "boolean") return value;
  throw invalid(field, mustBe("true or false", value));
}

function wordOf<Word extends string>(value: unknown, field: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === value);
  if (found !== undefined) return found;
  const meant = typeof value === "string" ? nearest(value, words) : undefined;
  const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  throw invalid(field, `must be one of ${words.join(", ")}${hint}`);
}
