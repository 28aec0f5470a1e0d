import type { DescEnum, DescField, DescMessage, MessageShape } from "@bufbuild/protobuf";
import { create, ScalarType } from "@bufbuild/protobuf";
import { invalid } from "../lib/errors.ts";
import { invariant } from "../lib/invariant.ts";
import { nearest } from "../lib/nearest.ts";
import { parseSizeBytes } from "../lib/units.ts";
import { isRequired, wordsOf } from "./descriptors.ts";
import { isAmounts, isInlined, isJsonText, VALUE } from "./special-fields.ts";

type Fields = Record<string, unknown>;
type Read = (value: unknown, path: string) => unknown;

interface Reader {
  readonly names: ReadonlyMap<string, Put>;
  readonly required: readonly { readonly name: string; readonly localName: string }[];
}
type Put = (message: Fields, value: unknown, path: string) => void;

/**
 * Converts JSON to a message: the inverse of `toJson`. Throws `invalid_argument` with the path of the field, as the caller wrote it, and
 * the right form. Rejects names that the message does not have.
 */
export const fromJson = <Desc extends DescMessage>(
  desc: Desc,
  value: unknown,
  path = "",
): MessageShape<Desc> => readMessage(desc, value, path) as MessageShape<Desc>;

const readers = new Map<string, Reader>();

function readMessage(desc: DescMessage, value: unknown, path: string): unknown {
  const { names, required } = readerOf(desc);
  const message = create(desc) as unknown as Fields;
  const given = objectOf(value, path);
  for (const name of Object.keys(given)) {
    const put = names.get(name);
    if (put === undefined) throw unknownField(path, name, [...names.keys()]);
    put(message, given[name], path === "" ? name : `${path}.${name}`);
  }
  for (const { name } of required) {
    if (!Object.hasOwn(given, name)) throw invalid(join(path, name), "is missing");
  }
  return message;
}

function readerOf(desc: DescMessage): Reader {
  const known = readers.get(desc.typeName);
  if (known !== undefined) return known;
  const names = new Map<string, Put>();
  const required: { name: string; localName: string }[] = [];
  const reader = { names, required };
  readers.set(desc.typeName, reader); // before its fields: a message may contain itself
  for (const field of desc.fields) {
    if (field.fieldKind === "message" && isInlined(desc.typeName, field.localName)) {
      inline(names, field.message, field.localName);
      continue;
    }
    names.set(field.jsonName, putOf(desc, field));
    if (isRequired(field)) required.push({ name: field.jsonName, localName: field.localName });
  }
  return reader;
}

/** The JSON has its fields next to the others; they are read into the inner message. */
function inline(names: Map<string, Put>, desc: DescMessage, localName: string): void {
  for (const [name, put] of readerOf(desc).names) {
    names.set(name, (message, value, path) => {
      const inner = (message[localName] ??= create(desc) as unknown as Fields) as Fields;
      put(inner, value, path);
    });
  }
}

function putOf(desc: DescMessage, field: DescField): Put {
  const read = readOf(desc, field);
  const { localName, oneof } = field;
  if (oneof === undefined) {
    return (message, value, path) => {
      message[localName] = read(value, path);
    };
  }
  return (message, value, path) => {
    const before = message[oneof.localName] as { readonly case?: string };
    if (before.case !== undefined) {
      throw invalid(path, `give either ${oneof.fields.map((one) => one.jsonName).join(" or ")}`);
    }
    message[oneof.localName] = { case: localName, value: read(value, path) };
  };
}

function readOf(desc: DescMessage, field: DescField): Read {
  if (isJsonText(desc.typeName, field.localName)) return (value) => JSON.stringify(value);
  if (isAmounts(desc.typeName, field.localName)) return readMap(readAmount);
  switch (field.fieldKind) {
    case "scalar":
      return scalarReader(field.scalar);
    case "enum":
      return enumReader(field.enum);
    case "message":
      return messageReader(field.message);
    case "list": {
      const item = itemReader(field);
      return (value, path) =>
        listOf(value, path).map((each, index) => item(each, `${path}[${index}]`));
    }
    case "map":
      return readMap(itemReader(field));
  }
}

function itemReader(field: DescField & { fieldKind: "list" | "map" }): Read {
  if (field.message !== undefined) return messageReader(field.message);
  if (field.enum !== undefined) return enumReader(field.enum);
  return scalarReader(field.scalar ?? ScalarType.STRING);
}

const messageReader = (desc: DescMessage): Read =>
  desc.typeName === VALUE
    ? (value, path) => create(desc, { value: caseOf(value, path) })
    : (value, path) => readMessage(desc, value, path);

const readMap =
  (item: Read): Read =>
  (value, path) => {
    const out: Fields = {};
    for (const [key, each] of Object.entries(objectOf(value, path))) {
      if (key === "__proto__") throw invalid(path, "must not have a key __proto__");
      out[key] = item(each, `${path}.${key}`);
    }
    return out;
  };

/** The values of `resources`. */
export const readAmounts = (value: unknown, path: string): Readonly<Record<string, number>> =>
  readMap(readAmount)(value, path) as Readonly<Record<string, number>>;

/** Memory may have a unit, as people write it; the user of the value checks the amount. */
function readAmount(value: unknown, path: string): number {
  if (typeof value === "string" && path.endsWith(".memory")) return parseSizeBytes(value, path);
  if (typeof value === "number") return value;
  const words = path.endsWith(".memory") ? "a number or a text" : "a number";
  throw invalid(path, `must be ${words}, not ${show(value)}`);
}

function caseOf(value: unknown, path: string) {
  if (typeof value === "number") return { case: "number", value };
  if (typeof value === "string") return { case: "text", value };
  if (typeof value === "boolean") return { case: "flag", value };
  throw invalid(path, `must be a number, a text, true or false, not ${show(value)}`);
}

function wholeReader(minimum: number, maximum: number) {
  return (value: unknown, path: string): number => {
    if (!Number.isInteger(value)) return wrong(value, path, "a whole number");
    const whole = value as number;
    if (whole >= minimum && whole <= maximum) return whole;
    throw invalid(path, `must be a whole number from ${minimum} to ${maximum}, not ${whole}`);
  };
}

const readSafe = wholeReader(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
const SCALARS: ReadonlyMap<ScalarType, Read> = new Map<ScalarType, Read>([
  [ScalarType.STRING, typeReader("string", "a text")],
  [ScalarType.BOOL, typeReader("boolean", "true or false")],
  [ScalarType.DOUBLE, typeReader("number", "a number")],
  [ScalarType.INT32, wholeReader(-(2 ** 31), 2 ** 31 - 1)],
  [ScalarType.UINT32, wholeReader(0, 2 ** 32 - 1)],
  [ScalarType.INT64, (value, path) => BigInt(readSafe(value, path))],
]);

function typeReader(type: "string" | "boolean" | "number", words: string): Read {
  return (value, path) => (typeof value === type ? value : wrong(value, path, words));
}

function scalarReader(scalar: ScalarType): Read {
  const read = SCALARS.get(scalar);
  invariant(read !== undefined, `fields of requests have no scalar type ${scalar}`);
  return read;
}

function enumReader(desc: DescEnum): Read {
  const numbers = new Map(desc.values.map((one) => [one.localName.toLowerCase(), one.number]));
  const words = wordsOf(desc);
  return (value, path) => {
    const number = words.includes(value as string) ? numbers.get(value as string) : undefined;
    if (number !== undefined) return number;
    const meant = typeof value === "string" ? nearest(value, words) : undefined;
    const hint = meant === undefined ? `use ${words.join(", ")}` : `did you mean ${meant}?`;
    throw invalid(path, `${show(value)} is not one of its values; ${hint}`);
  };
}

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

function unknownField(path: string, name: string, known: readonly string[]) {
  const meant = nearest(name, known);
  const hint = meant === undefined ? `known are ${known.join(", ")}` : `did you mean ${meant}?`;
  return invalid(join(path, name.slice(0, 80)), `is not known; ${hint}`);
}

function objectOf(value: unknown, path: string): Readonly<Fields> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Fields) : wrong(value, path, "an object");
}

const listOf = (value: unknown, path: string): readonly unknown[] =>
  Array.isArray(value) ? value : wrong(value, path, "a list");

function wrong(value: unknown, path: string, words: string): never {
  throw invalid(path === "" ? "body" : path, `must be ${words}, not ${show(value)}`);
}

/** A value as JSON, truncated, for messages. */
function show(value: unknown): string {
  if (value === undefined) return "absent";
  const shown = JSON.stringify(value);
  return shown.length > 40 ? `${shown.slice(0, 40)}…` : shown;
}
