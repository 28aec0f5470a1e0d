import { invalid } from "../../lib/errors.ts";
import { collecting } from "../single-flags.ts";

/** As on the wire: one of three types. */
export type WireValue = {
  readonly value:
    | { readonly case: "number"; readonly value: number }
    | { readonly case: "text"; readonly value: string }
    | { readonly case: "flag"; readonly value: boolean };
};

export type Values = Readonly<Record<string, WireValue>>;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Numbers as in JSON, true, false; anything else, and a quoted value, is a text. */
export function readValue(text: string): WireValue {
  if (text === "true" || text === "false") return flagOf(text === "true");
  if (NUMBER.test(text) && Number.isFinite(Number(text))) return numberOf(Number(text));
  const [, , quoted] = /^(["'])(.*)\1$/s.exec(text) ?? [];
  return textOf(quoted ?? text);
}

/** Undefined for anything but a number, a text, true or false. */
export function toWireValue(value: unknown): WireValue | undefined {
  if (typeof value === "number") return numberOf(value);
  if (typeof value === "string") return textOf(value);
  return typeof value === "boolean" ? flagOf(value) : undefined;
}

const flagOf = (value: boolean): WireValue => ({ value: { case: "flag", value } });
const numberOf = (value: number): WireValue => ({ value: { case: "number", value } });
const textOf = (value: string): WireValue => ({ value: { case: "text", value } });

/** "nodes_free=20"; collects the values of a repeated flag. */
export const keyAndValue = (flag: string) =>
  collecting((text: string, sofar: Values = {}): Values => {
    const at = text.indexOf("=");
    if (at > 0) return { ...sofar, [text.slice(0, at)]: readValue(text.slice(at + 1)) };
    throw invalid(flag, `"${text}" is not KEY=VALUE`);
  });

/** A file of state: an object of keys and values, null for keys to remove. */
export function readStateFile(
  content: string,
  file: string,
): { readonly values: Values; readonly remove: readonly string[] } {
  const values = new Map<string, WireValue>();
  const remove: string[] = [];
  for (const [key, value] of Object.entries(objectOf(content, file))) {
    const read = toWireValue(value);
    if (value === null) remove.push(key);
    else if (read !== undefined) values.set(key, read);
    else throw invalid(file, `${key}: must be a number, a text, true, false, or null to remove it`);
  }
  return { values: Object.fromEntries(values), remove };
}

function objectOf(content: string, file: string): object {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw invalid(file, `is not JSON: ${error instanceof Error ? error.message : "unreadable"}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw invalid(file, "must be an object of keys and values");
}
