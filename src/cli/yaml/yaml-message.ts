import { type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { SPEC_RULES } from "../../core/model/job/spec-rules.ts";
import { parseSizeBytes } from "../../lib/units.ts";
import type { Rule } from "../../lib/rules/rules.ts";
import { type DescField, isText } from "../../wire/descriptors.ts";
import { duration, wholeNumber } from "../flags.ts";
import type { Value } from "./yaml-value.ts";

export type { DescField } from "../../wire/descriptors.ts";

const RULES: Readonly<Record<string, Rule>> = SPEC_RULES;

/** The key of a field in a file: its name, without the unit where the value has one, as in `timeLimit: 5m` for timeLimitMs. */
export const fileKey = ({ jsonName }: DescField): string => jsonName.replace(/(?:Ms|Bytes)$/, "");

/** Reads a value of a file by the type of its field; errors have its position. */
export function valueReader(field: DescField): (value: Value) => unknown {
  if (field.fieldKind === "message") return messageReader(field.message);
  if (field.fieldKind === "list" && field.listKind === "message") {
    const read = messageReader(field.message);
    return (value) => value.list().map(read);
  }
  if (field.fieldKind === "map") return texts;
  if (field.fieldKind === "list") return (value) => value.list().map((each) => each.text());
  if (field.jsonName.endsWith("Ms")) return (value) => BigInt(duration(value.at)(value.text()));
  if (field.jsonName.endsWith("Bytes")) {
    return (value) => BigInt(parseSizeBytes(value.text(), value.at));
  }
  if (isText(field)) return (value) => value.text();
  if (field.scalar === ScalarType.BOOL) return truth;
  const { minimum: min = 0, maximum: max = 2 ** 31 - 1 } = RULES[field.jsonName] ?? {};
  return (value) => wholeNumber(value.at, { min, max })(value.text());
}

/** Free keys with texts: labels and environment. */
const texts = (value: Value): Record<string, string> =>
  Object.fromEntries(value.entries().map(([key, each]) => [key, each.text()]));

export function truth(value: Value): boolean {
  const text = value.text();
  if (text !== "true" && text !== "false") throw value.fail("must be true or false");
  return text === "true";
}

function messageReader(message: DescMessage): (value: Value) => unknown {
  const fields = new Map(message.fields.map((one) => [fileKey(one), one]));
  const keys = [...fields.keys()];
  return (value) =>
    Object.fromEntries(
      [...value.fields(keys)].map(([key, each]) => {
        const one = fields.get(key) as DescField;
        return [one.localName, valueReader(one)(each)];
      }),
    );
}
