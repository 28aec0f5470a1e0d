import { invalid } from "../errors.ts";
import type { Rule } from "./rules.ts";

/** Throws `invalid_argument` when a value does not follow its rule. Returns the value. */
export function checkRule<Value>(value: Value, field: string, rule: Rule): Value {
  const problem = problemOf(value, rule);
  if (problem !== undefined) throw invalid(field, problem);
  return value;
}

/** Characters as JSON Schema counts them: one outside the basic plane is one, not two. */
export function isLongerText(text: string, max: number): boolean {
  if (text.length <= max) return false;
  return text.length > 2 * max || Array.from(text).length > max;
}

/** What is wrong with the value, and what would be right. */
function problemOf(value: unknown, rule: Rule): string | undefined {
  if (typeof value === "number") return problemOfNumber(value, rule);
  if (typeof value === "string") return problemOfText(value, rule);
  return Array.isArray(value) ? problemOfList(value, rule) : undefined;
}

function problemOfNumber(value: number, rule: Rule): string | undefined {
  if (isAllowedNumber(value, rule)) return undefined;
  if (rule.hint !== undefined) return `${value} is not ${rule.hint}`;
  const { minimum, maximum, exclusiveMinimum } = rule;
  const from = exclusiveMinimum === undefined ? `from ${minimum}` : `more than ${exclusiveMinimum}`;
  const to = maximum === undefined ? "" : exclusiveMinimum === undefined ? ` to ${maximum}` : "";
  const most = exclusiveMinimum === undefined ? "" : ` and at most ${maximum}`;
  const kind = rule.multipleOf === 1 ? "a whole number " : "";
  return `must be ${kind}${from}${to}${most}, not ${value}`;
}

function isAllowedNumber(value: number, rule: Rule): boolean {
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity } = rule;
  if (rule.const !== undefined && value !== rule.const) return false;
  if (rule.anyOf?.some((one) => isAllowedNumber(value, one)) === false) return false;
  if (rule.multipleOf === 1 && !Number.isSafeInteger(value)) return false;
  return value >= minimum && value <= maximum && value > exclusiveMinimum;
}

function problemOfText(value: string, rule: Rule): string | undefined {
  const { minLength = 0, maxLength, pattern, hint, enum: words } = rule;
  if (words !== undefined && !words.includes(value)) {
    return `must be one of ${words.join(", ")}, not ${show(value)}`;
  }
  if (value.length < minLength) return "must not be empty";
  if (maxLength !== undefined && isLongerText(value, maxLength)) {
    return `must have at most ${maxLength} characters`;
  }
  if (pattern === undefined || (value.isWellFormed() && regexOf(pattern).test(value))) {
    return undefined;
  }
  return hint === undefined ? "has characters that it must not have" : `must be ${hint}`;
}

function problemOfList({ length }: readonly unknown[], rule: Rule): string | undefined {
  const { minItems = 0, maxItems = Infinity } = rule;
  if (length >= minItems && length <= maxItems) return undefined;
  return `must have ${minItems} to ${maxItems} entries, not ${length}`;
}

const show = (value: string): string => JSON.stringify(value.slice(0, 40));

const regexes = new Map<string, RegExp>();

/** Matches patterns as JSON Schema does. */
function regexOf(pattern: string): RegExp {
  const known = regexes.get(pattern) ?? new RegExp(pattern, "u");
  regexes.set(pattern, known);
  return known;
}
