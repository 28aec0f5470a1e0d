import { unreachable } from "../../../lib/invariant.ts";
import { conversion, EPSILON, isAtLeast } from "./amount.ts";
import type { Scalar } from "../metadata.ts";
import type { Condition, Requirement } from "./request.ts";
import { isBetween, parseVersion, type Version } from "./version.ts";

/** The scalars of a subsystem's vertex that conditions test. */
export type Scalars = ReadonlyMap<string, Scalar>;
export type Test = (vertex: Scalars) => boolean;

/** Whether all conditions hold on one vertex; tests the cheap ones first. */
export function testOf({ conditions }: Requirement): Test {
  const tests = conditions
    .toSorted((one, other) => costs[one.kind] - costs[other.kind])
    .map(conditionTest);
  return (vertex) => tests.every((holds) => holds(vertex));
}

const costs = { present: 0, "one-of": 1, number: 2, version: 3 } as const;

function conditionTest(condition: Condition): Test {
  const { field } = condition;
  switch (condition.kind) {
    case "present":
      return (vertex) => vertex.has(field);
    case "one-of": {
      const wanted = new Set(condition.values);
      return (vertex) => {
        const value = vertex.get(field);
        return value !== undefined && wanted.has(String(value));
      };
    }
    case "version": {
      // A bound that is not a readable version admits nothing: a typo must not widen a range.
      const end = (text: string | undefined): Version | "unreadable" | undefined =>
        text === undefined
          ? undefined
          : ((isOneVersion(text) ? parseVersion(text) : undefined) ?? "unreadable");
      const [min, max] = [end(condition.min), end(condition.max)];
      return (vertex) => {
        if (min === "unreadable" || max === "unreadable") return false;
        const value = vertex.get(field);
        if (value === undefined || typeof value === "boolean") return false;
        const version = parseVersion(String(value));
        return version !== undefined && isBetween(version, min, max);
      };
    }
    case "number":
      return (vertex) => holdsNumber(condition, vertex);
    default:
      return unreachable(condition);
  }
}

/**
 * Excludes constraints like "0.1 || 99", ">= 1" or "^1.2", of which only the numbers would be read.
 */
const isOneVersion = (text: string): boolean => !/[\s|<>^,*]/.test(text.trim());

function holdsNumber(condition: Condition & { kind: "number" }, vertex: Scalars): boolean {
  const own = numberOf(vertex.get(condition.field));
  if (own === undefined) return false;
  const ownUnit = vertex.get("unit");
  const unit = own.unit === "" && typeof ownUnit === "string" ? ownUnit : own.unit;
  const factor = conversion(condition.unit ?? "", unit);
  if (factor === undefined) return false;
  const wanted = condition.value * factor;
  const isEqual = Math.abs(own.number - wanted) <= EPSILON * Math.abs(wanted);
  switch (condition.comparison) {
    case "<":
      return own.number < wanted && !isEqual;
    case "<=":
      return own.number <= wanted || isEqual;
    case "=":
      return isEqual;
    case "!=":
      return !isEqual;
    case ">=":
      return isAtLeast(own.number, wanted);
    case ">":
      return own.number > wanted && !isEqual;
    default:
      return unreachable(condition.comparison);
  }
}

/** A number, or a text that begins with one ("16 GiB", "2.5"). */
function numberOf(value: Scalar | undefined): { number: number; unit: string } | undefined {
  if (typeof value === "number") return { number: value, unit: "" };
  if (typeof value !== "string" || value.length > 64) return undefined;
  const match = /^\s*([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)\s*$/.exec(value);
  return match === null ? undefined : { number: Number(match[1]), unit: match[2] ?? "" };
}

/** For people: "spack name=ior, version >= 3.3". */
export function describeRequirement({ subsystem, conditions }: Requirement): string {
  return `${subsystem} ${conditions.map(describeCondition).join(", ")}`.trimEnd();
}

function describeCondition(condition: Condition): string {
  const { field } = condition;
  switch (condition.kind) {
    case "present":
      return field;
    case "one-of":
      return `${field}=${condition.values.join("|")}`;
    case "version": {
      const { min, max } = condition;
      if (min === undefined) return `${field} <= ${max}`;
      return max === undefined ? `${field} >= ${min}` : `${field} ${min} to ${max}`;
    }
    case "number": {
      const unit = condition.unit === undefined ? "" : ` ${condition.unit}`;
      return `${field} ${condition.comparison} ${condition.value}${unit}`;
    }
    default:
      return unreachable(condition);
  }
}
