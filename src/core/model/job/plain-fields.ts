import { invalid, unprocessable } from "../../../lib/errors.ts";
import { checkRule } from "../../../lib/rules/check-rule.ts";
import type { Rule } from "../../../lib/rules/rules.ts";
import { checkValue, PRINTABLE } from "../texts.ts";
import { ATTACH_RULES } from "./attach/attach.ts";
import { whole, type WholeRule } from "./whole.ts";

interface PrintableRule extends Rule {
  readonly maxLength: number;
  readonly pattern: typeof PRINTABLE;
}

interface WordRule extends Rule {
  readonly enum: readonly string[];
}

/**
 * Fields of a spec that are a plain value: a text or a whole number, absent unless given. The core
 * needs only their rule: it validates, stores and shows them.
 */
export const PLAIN_RULES = {
  comment: { maxLength: 1_024, pattern: PRINTABLE },
  nice: { minimum: -20, maximum: 19 },
  beginAtMs: { minimum: 0, maximum: 8_640_000_000_000_000 },
  submitDirectory: { maxLength: 4_096, pattern: PRINTABLE },
  submitDirectoryId: { maxLength: 4_096, pattern: PRINTABLE },
  stdoutFile: { maxLength: 4_096, pattern: PRINTABLE },
  stderrFile: { maxLength: 4_096, pattern: PRINTABLE },
  ...ATTACH_RULES,
} as const satisfies Readonly<Record<string, PrintableRule | WholeRule | WordRule>>;

type Rules = typeof PLAIN_RULES;
export type PlainName = keyof Rules;
export type PlainTerms = {
  readonly [Name in PlainName]: (Rules[Name] extends WholeRule ? number : string) | undefined;
};
export type PlainInput = { readonly [Name in PlainName]?: PlainTerms[Name] };

const NAMES = Object.keys(PLAIN_RULES) as readonly PlainName[];

export const NO_PLAIN_TERMS = Object.freeze(
  Object.fromEntries(NAMES.map((name) => [name, undefined])),
) as unknown as PlainTerms;

/** Validates each by its rule. Most jobs have none, and share one object. */
export function toPlainTerms(input: PlainInput): PlainTerms {
  let terms = NO_PLAIN_TERMS;
  for (const name of NAMES) {
    const value = input[name];
    if (value === undefined) continue;
    terms = { ...terms, [name]: checked(value, name) };
  }
  return terms;
}

function checked(value: string | number, name: PlainName): string | number {
  const rule: PrintableRule | WholeRule | WordRule = PLAIN_RULES[name];
  if ("enum" in rule) return checkRule(value, name, rule);
  if ("maxLength" in rule) {
    if (typeof value === "string") return checkValue(value, name, rule.maxLength);
    throw invalid(name, "must be a text");
  }
  return whole(Number(value), name, rule);
}

/** The plain ones of all terms. */
export const plainTermsOf = (terms: PlainTerms): PlainTerms =>
  Object.fromEntries(NAMES.map((name) => [name, terms[name]])) as unknown as PlainTerms;

interface WithOutputFiles extends PlainInput {
  readonly array?: string | undefined;
  readonly entries?: readonly string[] | undefined;
  readonly image?: unknown;
  readonly containers?: unknown;
}

export function checkOutputFiles(input: WithOutputFiles): void {
  const isArray = input.array !== undefined || (input.entries ?? []).length > 0;
  for (const field of ["stdoutFile", "stderrFile"] as const) {
    const file = input[field];
    if (file === undefined) continue;
    if ((input.image ?? input.containers) !== undefined)
      throw unprocessable(field, "is not for jobs with an image or containers");
    const problem = outputFileProblem(file, isArray);
    if (problem !== undefined) throw unprocessable(field, problem);
  }
}

/** Why tasks cannot write their output to this file; undefined: they can. */
export function outputFileProblem(file: string, isArray: boolean): string | undefined {
  const unknown = (file.match(/%.?/gs) ?? []).find((each) => !/%[jian%]/.test(each));
  if (unknown !== undefined)
    return `"${unknown}" is not known; write %j, %i, %a, %n, or %% for a percent sign`;
  if (!isArray || file === "/dev/null" || file.includes("%i")) return undefined;
  return `"${file.slice(0, 80)}" would be written by all tasks of the array; add %i`;
}
