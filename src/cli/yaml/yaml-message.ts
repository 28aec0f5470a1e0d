import { SPEC_RULES } from "../../core/model/job/spec-rules.ts";
import { parseSizeBytes } from "../../lib/units.ts";
import type { Rule } from "../../lib/rules/rules.ts";
import { type DescField, isText } from "../../wire/descriptors.ts";
import { duration, wholeNumber } from "../flags.ts";
import type { Value } from "./yaml-value.ts";

export type { DescField } from "../../wire/descriptors.ts";

const RULES: Readonly<Record<string, Rule>> = SPEC_RULES;

/**
 * The key of a field in a file: its name, without the unit where one is written beside the value, as in
 * `timeLimit: 5m` for timeLimitMs.
 */
export const fileKey = ({ jsonName }: DescField): string => jsonName.replace(/(?:Ms|Bytes)$/, "");

/** Reads a value of a file by the type of its field; errors tell where it stands. */
export function valueReader(field: DescField): (value: Value) => unknown {
  if (field.fieldKind === "message") return messageReader(field);
  if (field.fieldKind === "map") return texts;
  if (field.fieldKind === "list") return (value) => value.list().map((each) => each.text());
  if (field.jsonName.endsWith("Ms")) return (value) => BigInt(duration(value.at)(value.text()));
  if (field.jsonName.endsWith("Bytes")) {
    return (value) => BigInt(parseSizeBytes(value.text(), value.at));
  }
  if (isText(field)) return (value) => value.text();
  const { minimum: min = 0, maximum: max = 2 ** 31 - 1 } = RULES[field.jsonName] ?? {};
  return (value) => wholeNumber(value.at, { min, max })(value.text());
}

/** Keys of their own choice with texts: labels and environment. */
const texts = (value: Value): Record<string, string> =>
  Object.fromEntries(value.entries().map(([key, each]) => [key, each.text()]));

function messageReader(field: DescField & { fieldKind: "message" }): (value: Value) => unknown {
  const fields = new Map(field.message.fields.map((one) => [fileKey(one), one]));
  const keys = [...fields.keys()];
  return (value) =>
    Object.fromEntries(
      [...value.fields(keys)].map(([key, each]) => {
        const one = fields.get(key) as DescField;
        return [one.localName, valueReader(one)(each)];
      }),
    );
}
