import { isLongerText } from "../../lib/rules/check-rule.ts";
import { invalid } from "../../lib/errors.ts";
import type { Rule } from "../../lib/rules/rules.ts";
import { limits } from "../../limits.ts";
import type { Texts } from "./job/job.ts";

/**
 * Characters that move a cursor, end a line, or turn the direction of writing: a name with one of
 * them could hide what is beside it, on a terminal or in a log.
 */
export const CONTROL_SET =
  "\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff";
const CONTROLS = new RegExp(`[${CONTROL_SET}]`, "u");
/** A text without them, as a pattern. */
export const PRINTABLE = `^[^${CONTROL_SET}]*$`;
const ALL_CONTROLS = new RegExp(CONTROLS, "gu");

export const isPrintable = (text: string): boolean => text.isWellFormed() && !CONTROLS.test(text);

/** A text that somebody else wrote, for people: bounded, and with signs in place of controls. */
export function visible(text: string, lengthMax: number): string {
  const short = text.length > lengthMax ? text.slice(0, lengthMax) : text;
  return isPrintable(short) ? short : short.toWellFormed().replace(ALL_CONTROLS, signOf);
}

/** Unicode has a sign for each of the old controls: ␛ for an escape, ␊ for a line feed. */
function signOf(control: string): string {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

/**
 * Names that others chose freely: state keys, ids of vertices. Returns what it was given. One that
 * becomes the key of an object on a wire must be `isKey` too.
 */
export function checkText(text: string, field: string, lengthMax: number): string {
  if (text !== "" && !isLongerText(text, lengthMax) && isPrintable(text)) return text;
  throw invalid(
    field,
    `${JSON.stringify(visible(text, 40))} is not a name: 1 to ${lengthMax} characters, and no ` +
      "control characters",
  );
}

/** Values that callers chose freely and people read; they may be empty. Returns what it was given. */
export function checkValue(text: string, field: string, lengthMax: number): string {
  if (isLongerText(text, lengthMax)) throw invalid(field, `at most ${lengthMax} characters`);
  if (!isPrintable(text)) throw invalid(field, "must not have control characters");
  return text;
}

/** Of what `checkText` takes. */
export const textRule = (lengthMax: number) =>
  ({ minLength: 1, maxLength: lengthMax, pattern: PRINTABLE }) as const satisfies Rule;

/** Of what `checkValue` takes. */
export const valueRule = (lengthMax: number) =>
  ({ maxLength: lengthMax, pattern: PRINTABLE }) as const satisfies Rule;

/** Of the reasons that callers give for what they do; what a terminal must not see is replaced. */
export const REASON_RULE = { maxLength: limits.reasonLengthMax } as const satisfies Rule;

/** `__proto__` cannot be the key of an ordinary object, as maps are once they are decoded. */
export const isKey = (text: string): boolean =>
  text !== "" && text !== "__proto__" && isPrintable(text);

/** Labels of jobs and nodes, and what jobs ask for of nodes. */
export const LABELS_RULE = {
  maxProperties: limits.labelsMax,
  propertyNames: {
    minLength: 1,
    maxLength: limits.labelLengthMax,
    pattern: `^(?!__proto__$)[^\\s=,${CONTROL_SET}]+$`,
  },
  additionalProperties: { maxLength: limits.labelLengthMax, pattern: PRINTABLE },
} as const satisfies Rule;

const NO_TEXTS: Texts = Object.freeze({});

/** Labels of jobs and nodes, and what jobs ask for of nodes: one rule. Returns what it was given. */
export function checkLabels(labels: Texts | undefined, field: string): Texts {
  if (labels === undefined) return NO_TEXTS;
  const names = Object.keys(labels);
  if (names.length === 0) return NO_TEXTS;
  if (names.length > limits.labelsMax) throw invalid(field, `at most ${limits.labelsMax} labels`);
  for (const name of names) {
    if (!isLabelName(name)) {
      const shown = JSON.stringify(visible(name, 40));
      throw invalid(
        field,
        `${shown} is not a label name: 1 to ${limits.labelLengthMax} characters without blanks, ` +
          '"=", "," and control characters',
      );
    }
    checkValue(labels[name] ?? "", `${field}.${name}`, limits.labelLengthMax);
  }
  return labels;
}

const isLabelName = (name: string): boolean =>
  isKey(name) && !isLongerText(name, limits.labelLengthMax) && !/[\s=,]/.test(name);
