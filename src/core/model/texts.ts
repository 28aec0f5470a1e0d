import { isLongerText } from "../../lib/rules/check-rule.ts";
import { invalid } from "../../lib/errors.ts";
import type { Rule } from "../../lib/rules/rules.ts";
import { limits } from "../../limits.ts";
import type { Texts } from "./job/job.ts";

/**
 * Characters that move a cursor, end a line, or change the direction of writing: a name with one of
 * them could hide its neighbours on a terminal or in a log.
 */
export const CONTROL_SET =
  "\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff";
const CONTROLS = new RegExp(`[${CONTROL_SET}]`, "u");
/** The pattern of a text without them. */
export const PRINTABLE = `^[^${CONTROL_SET}]*$`;
const ALL_CONTROLS = new RegExp(CONTROLS, "gu");

export const isPrintable = (text: string): boolean => text.isWellFormed() && !CONTROLS.test(text);

/** A foreign text for display: bounded, and with symbols in place of control characters. */
export function visible(text: string, lengthMax: number): string {
  const short = text.length > lengthMax ? text.slice(0, lengthMax) : text;
  return isPrintable(short) ? short : short.toWellFormed().replace(ALL_CONTROLS, signOf);
}

/** Unicode has a symbol for each of the old control characters: ␛ for an escape, ␊ for a line feed. */
function signOf(control: string): string {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

/**
 * Names that callers choose freely: state keys, ids of vertices. Returns its argument. A name that
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

/** Values that callers choose freely and people read; they may be empty. Returns its argument. */
export function checkValue(text: string, field: string, lengthMax: number): string {
  if (isLongerText(text, lengthMax)) throw invalid(field, `at most ${lengthMax} characters`);
  if (!isPrintable(text)) throw invalid(field, "must not have control characters");
  return text;
}

/** For texts that `checkText` accepts. */
export const textRule = (lengthMax: number) =>
  ({ minLength: 1, maxLength: lengthMax, pattern: PRINTABLE }) as const satisfies Rule;

/** For texts that `checkValue` accepts. */
export const valueRule = (lengthMax: number) =>
  ({ maxLength: lengthMax, pattern: PRINTABLE }) as const satisfies Rule;

/** For the reasons that callers give; `visible` replaces control characters. */
export const REASON_RULE = { maxLength: limits.reasonLengthMax } as const satisfies Rule;

/** `__proto__` cannot be a key of a plain object, which decoded maps are. */
export const isKey = (text: string): boolean =>
  text !== "" && text !== "__proto__" && isPrintable(text);

/** Labels of jobs and nodes, and labels that jobs request of nodes. */
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

/** Labels of jobs and nodes, and labels that jobs request of nodes: one rule. Returns its argument. */
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
