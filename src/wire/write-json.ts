import type {
  DescEnum,
  DescField,
  DescMessage,
  DescOneof,
  DescService,
  MessageShape,
} from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { hasPresence } from "./descriptors.ts";
import { type Convert, writers } from "./json-of.ts";
import type { JsonOf } from "./json-shape.ts";
import { isInlined, isJsonText, VALUE, WRITTEN } from "./special-fields.ts";

type Fields = Readonly<Record<string, unknown>>;
type Put = (out: Record<string, unknown>, message: Fields) => void;

/**
 * A message as JSON: names in camelCase, 64-bit numbers as numbers, enums as words in lower case. A
 * field with presence is there when it is set, any other always, also when it is 0 or empty (but see
 * WRITTEN). Made for each type of message once: this runs for every event of every watch.
 */
export const toJson = <Desc extends DescMessage>(
  desc: Desc,
  message: MessageShape<Desc>,
): JsonOf<MessageShape<Desc>> => writerOf(desc)(message) as JsonOf<MessageShape<Desc>>;

/** Makes the types of all answers of a service known to `jsonOf`. */
export function knowAnswers({ methods }: DescService): void {
  for (const { output } of methods) writerOf(output);
}

function writerOf(desc: DescMessage): Convert {
  const known = writers.get(desc.typeName);
  if (known !== undefined) return known;
  const puts: Put[] = [];
  const write: Convert =
    desc.typeName === VALUE
      ? (message) => (message as { value: { value?: unknown } }).value.value
      : (message) => {
          const out: Record<string, unknown> = {};
          for (const put of puts) put(out, message as Fields);
          return out;
        };
  // Known before its fields are: a message may contain itself.
  writers.set(desc.typeName, write);
  for (const member of desc.members) {
    puts.push(member.kind === "oneof" ? putOneof(member) : putField(desc, member));
  }
  return write;
}

function putField(desc: DescMessage, field: DescField): Put {
  const { localName, jsonName } = field;
  if (isJsonText(desc.typeName, localName)) {
    return (out, message) => {
      const text = message[localName];
      if (typeof text === "string" && text !== "") out[jsonName] = parsed(text);
    };
  }
  const convert = converterOf(field);
  if (isInlined(desc.typeName, localName)) {
    return (out, message) => {
      const value = message[localName];
      if (value !== undefined) Object.assign(out, convert?.(value));
    };
  }
  const isMany = field.fieldKind === "list" || field.fieldKind === "map";
  if (isMany && (WRITTEN as readonly string[]).includes(desc.typeName)) {
    return (out, message) => {
      const value = message[localName] as object;
      if (isEmpty(value)) return;
      out[jsonName] = convert === undefined ? value : convert(value);
    };
  }
  if (!hasPresence(field)) {
    return convert === undefined
      ? (out, message) => {
          out[jsonName] = message[localName];
        }
      : (out, message) => {
          out[jsonName] = convert(message[localName]);
        };
  }
  return (out, message) => {
    const value = message[localName];
    if (value !== undefined) out[jsonName] = convert === undefined ? value : convert(value);
  };
}

function isEmpty(value: object): boolean {
  for (const _ in value) return false;
  return true;
}

function putOneof(oneof: DescOneof): Put {
  const members = new Map(
    oneof.fields.map((field) => [
      field.localName,
      {
        name: field.jsonName,
        convert: isJsonText(oneof.parent.typeName, field.localName)
          ? (text: unknown) => parsed(String(text))
          : converterOf(field),
      },
    ]),
  );
  return (out, message) => {
    const chosen = message[oneof.localName] as { case?: string; value?: unknown };
    const member = chosen.case === undefined ? undefined : members.get(chosen.case);
    if (member === undefined) return;
    out[member.name] = member.convert === undefined ? chosen.value : member.convert(chosen.value);
  };
}

/** Undefined: the value is its own JSON. */
function converterOf(field: DescField): Convert | undefined {
  switch (field.fieldKind) {
    case "scalar":
      return scalarConverter(field.scalar);
    case "enum":
      return enumConverter(field.enum);
    case "message":
      return writerOf(field.message);
    case "list": {
      const item = itemConverter(field);
      return item && ((values) => (values as readonly unknown[]).map(item));
    }
    case "map": {
      const item = itemConverter(field);
      return item && ((values) => mapValues(values as Fields, item));
    }
  }
}

function itemConverter(field: DescField & { fieldKind: "list" | "map" }): Convert | undefined {
  if (field.message !== undefined) return writerOf(field.message);
  if (field.enum !== undefined) return enumConverter(field.enum);
  return scalarConverter(field.scalar);
}

function mapValues(values: Fields, convert: Convert): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const key in values) out[key] = convert(values[key]);
  return out;
}

const SCALARS: ReadonlyMap<ScalarType | undefined, Convert> = new Map<ScalarType, Convert>([
  [ScalarType.INT64, Number],
  [ScalarType.UINT64, Number],
  [ScalarType.BYTES, (bytes) => Buffer.from(bytes as Uint8Array).toString("base64")],
]);

const scalarConverter = (scalar: ScalarType | undefined): Convert | undefined =>
  SCALARS.get(scalar);

function enumConverter({ values }: DescEnum): Convert {
  const words = new Map(values.map(({ number, localName }) => [number, localName.toLowerCase()]));
  // A word that this version has not heard of is no reason to show nothing at all.
  return (number) => words.get(number as number) ?? "unknown";
}

/** What a server of another version writes differently is shown as it is. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
