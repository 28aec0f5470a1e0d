import { enums, messages } from "../gen/busbar/v1/tables.ts";
import { invariant } from "../lib/invariant.ts";

const PACKAGE = "busbar.v1.";

export type ScalarName = "string" | "bool" | "int32" | "uint32" | "int64" | "double" | "bytes";

/** One value of a field, or of a list or map. */
export type ValueType =
  | { readonly kind: "scalar"; readonly scalar: ScalarName }
  | { readonly kind: "enum"; readonly name: string }
  | { readonly kind: "message"; readonly name: string };

export interface FieldType {
  /** In messages and in JSON. */
  readonly name: string;
  readonly number: number;
  readonly many: "list" | "map" | undefined;
  readonly value: ValueType;
  /** Whether a message can tell it apart from 0 or empty when it is absent. */
  readonly hasPresence: boolean;
  /** At most one field of those with the same name is set. */
  readonly oneof: string | undefined;
}

export interface MessageType {
  /** With its package: "busbar.v1.Job". */
  readonly typeName: string;
  /** In the order of the schema. */
  readonly fields: readonly FieldType[];
  readonly byNumber: ReadonlyMap<number, FieldType>;
}

const known = new Map<string, MessageType>();

/**
 * A message of Busbar's schema, without its descriptor: a line of text, read when it is first needed.
 * Descriptors take 40 ms of CPU to build, more than all else that a short command does.
 */
export function messageType(fullName: string): MessageType {
  const name = fullName.startsWith(PACKAGE) ? fullName.slice(PACKAGE.length) : fullName;
  const before = known.get(name);
  if (before !== undefined) return before;
  const line = Object.hasOwn(messages, name) ? messages[name] : undefined;
  invariant(line !== undefined, `${fullName} is not a message of the schema`);
  const fields = line === "" ? [] : line.split(" ").map(readField);
  const type = {
    typeName: PACKAGE + name,
    fields,
    byNumber: new Map(fields.map((field) => [field.number, field])),
  };
  known.set(name, type);
  return type;
}

/** The words of an enum by their numbers. */
export function enumWords(name: string): ReadonlyMap<number, string> {
  const line = Object.hasOwn(enums, name) ? enums[name] : undefined;
  invariant(line !== undefined, `${name} is not an enum of the schema`);
  return new Map(
    line.split(" ").map((entry) => {
      const [word = "", number] = entry.split("=");
      return [Number(number), word];
    }),
  );
}

const FIELD = /^(\w+)=(\d+)(?:@(\w+))?:(#?)(\w+)(\?|\*|\{\})?$/;

function readField(text: string): FieldType {
  const parts = FIELD.exec(text);
  invariant(parts !== null, `"${text}" is not a field`);
  const [, name = "", number, oneof, isEnum, type = "", mark] = parts;
  return {
    name,
    number: Number(number),
    many: mark === "*" ? "list" : mark === "{}" ? "map" : undefined,
    value: valueType(type, isEnum === "#"),
    hasPresence: mark === "?",
    oneof,
  };
}

/** Messages have names in capitals, scalars have not. */
function valueType(name: string, isEnum: boolean): ValueType {
  if (isEnum) return { kind: "enum", name };
  const isMessage = name.charCodeAt(0) < "a".charCodeAt(0);
  return isMessage ? { kind: "message", name } : { kind: "scalar", scalar: name as ScalarName };
}
