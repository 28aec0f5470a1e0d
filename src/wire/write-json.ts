import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import type { JsonOf } from "./json-shape.ts";
import {
  enumWords,
  type FieldType,
  type MessageType,
  messageType,
  type ScalarName,
  type ValueType,
} from "./message-types.ts";
import { isInlined, isJsonText, VALUE, WRITTEN } from "./special-fields.ts";

type Fields = Readonly<Record<string, unknown>>;
type Put = (out: Record<string, unknown>, message: Fields) => void;
type Convert = (value: unknown) => unknown;

/** By full names of messages. */
const writers = new Map<string, Convert>();

/**
 * A message as JSON: names in camelCase, 64-bit numbers as numbers, enums as words in lower case. A field with presence exists when it is
 * set, any other always, even when it is 0 or empty (except those in WRITTEN). Compiled once per message type: this runs for every event of
 * every watch.
 */
export const toJson = <Desc extends DescMessage>(
  desc: Desc,
  message: MessageShape<Desc>,
): JsonOf<MessageShape<Desc>> =>
  writerOf(messageType(desc.typeName))(message) as JsonOf<MessageShape<Desc>>;

/** The same for a message that says its type, as all of the client's do. */
export const jsonOf = <T extends Message>(message: T): JsonOf<T> =>
  writerOf(messageType(message.$typeName))(message) as JsonOf<T>;

function writerOf(type: MessageType): Convert {
  const known = writers.get(type.typeName);
  if (known !== undefined) return known;
  const puts: Put[] = [];
  const write: Convert =
    type.typeName === VALUE
      ? (message) => (message as { value: { value?: unknown } }).value.value
      : (message) => {
          const out: Record<string, unknown> = {};
          for (const put of puts) put(out, message as Fields);
          return out;
        };
  // Registered before its fields: a message may contain itself.
  writers.set(type.typeName, write);
  const oneofs = new Set<string>();
  for (const field of type.fields) {
    const { oneof } = field;
    if (oneof === undefined) puts.push(putField(type, field));
    else if (!oneofs.has(oneof)) puts.push(putOneof(type, oneof));
    if (oneof !== undefined) oneofs.add(oneof);
  }
  return write;
}

function putField({ typeName }: MessageType, field: FieldType): Put {
  const { name, many, hasPresence } = field;
  if (isJsonText(typeName, name)) {
    return (out, message) => {
      const text = message[name];
      if (typeof text === "string" && text !== "") out[name] = parsed(text);
    };
  }
  const convert = converterOf(field);
  if (isInlined(typeName, name)) {
    return (out, message) => {
      const value = message[name];
      if (value !== undefined) Object.assign(out, convert?.(value));
    };
  }
  if (many !== undefined && (WRITTEN as readonly string[]).includes(typeName)) {
    return (out, message) => {
      const value = message[name] as object;
      if (isEmpty(value)) return;
      out[name] = convert === undefined ? value : convert(value);
    };
  }
  if (!hasPresence) {
    return convert === undefined
      ? (out, message) => {
          out[name] = message[name];
        }
      : (out, message) => {
          out[name] = convert(message[name]);
        };
  }
  return (out, message) => {
    const value = message[name];
    if (value !== undefined) out[name] = convert === undefined ? value : convert(value);
  };
}

function isEmpty(value: object): boolean {
  for (const _ in value) return false;
  return true;
}

function putOneof({ typeName, fields }: MessageType, oneof: string): Put {
  const members = new Map(
    fields
      .filter((field) => field.oneof === oneof)
      .map((field) => [
        field.name,
        isJsonText(typeName, field.name)
          ? (text: unknown) => parsed(String(text))
          : converterOf(field),
      ]),
  );
  return (out, message) => {
    const chosen = message[oneof] as { case?: string; value?: unknown };
    if (chosen.case === undefined || !members.has(chosen.case)) return;
    const convert = members.get(chosen.case);
    out[chosen.case] = convert === undefined ? chosen.value : convert(chosen.value);
  };
}

/** Undefined: the value is its own JSON. */
function converterOf({ many, value }: FieldType): Convert | undefined {
  const item = valueConverter(value);
  if (many === undefined || item === undefined) return item;
  return many === "list"
    ? (values) => (values as readonly unknown[]).map(item)
    : (values) => mapValues(values as Fields, item);
}

function mapValues(values: Fields, convert: Convert): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const key in values) out[key] = convert(values[key]);
  return out;
}

const SCALARS: Readonly<Partial<Record<ScalarName, Convert>>> = {
  int64: Number,
  bytes: (bytes) => Buffer.from(bytes as Uint8Array).toString("base64"),
};

function valueConverter(type: ValueType): Convert | undefined {
  if (type.kind === "scalar") return SCALARS[type.scalar];
  if (type.kind === "enum") return enumConverter(type.name);
  // Made when one is shown: most commands see few of all messages.
  let write: Convert | undefined;
  return (value) => (write ??= writerOf(messageType(type.name)))(value);
}

function enumConverter(name: string): Convert {
  const words = enumWords(name);
  // An enum value that this version does not know is no reason to show nothing at all.
  return (number) => words.get(number as number) ?? "unknown";
}

/** A value that a server of another version writes differently is shown unchanged. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
