import { invalid } from "../../lib/errors.ts";
import { type FieldType, type MessageType, messageType, type ValueType } from "../message-types.ts";
import { BYTES, isPackable, MAP_KEY, MAP_VALUE, wireTypeOf } from "./wire-types.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A message, or a plain object in place of one, as protobuf's bytes. Throws AppError for a value of another type. */
export function encodeMessage(type: MessageType, message: object): Buffer {
  const out = new Out();
  writeMessage(out, type, message as Fields, "");
  return out.take();
}

function writeMessage(out: Out, { fields }: MessageType, message: Fields, path: string): void {
  for (const field of fields) {
    const value = field.oneof === undefined ? message[field.name] : chosen(message, field);
    if (value === undefined || value === null) continue;
    writeField(out, field, value, path === "" ? field.name : `${path}.${field.name}`);
  }
}

function chosen(message: Fields, { name, oneof = "" }: FieldType): unknown {
  const choice = message[oneof] as { readonly case?: string; readonly value?: unknown } | undefined;
  return choice?.case === name ? choice.value : undefined;
}

function writeField(out: Out, field: FieldType, value: unknown, path: string): void {
  if (field.many === "map") {
    writeMap(out, field, value as Fields, path);
  } else if (field.many === "list") {
    writeList(out, field, value as readonly unknown[], path);
  } else if (field.hasPresence || !isZero(value)) {
    out.tag(field.number, wireTypeOf(field.value));
    writeValue(out, field.value, value, path);
  }
}

const isZero = (value: unknown): boolean =>
  value === "" ||
  value === false ||
  Object.is(value, 0) || // -0 is not the same number
  value === 0n ||
  (value instanceof Uint8Array && value.byteLength === 0);

function writeList(out: Out, field: FieldType, values: readonly unknown[], path: string): void {
  if (!isPackable(field)) {
    for (const [index, each] of values.entries()) {
      out.tag(field.number, BYTES);
      writeValue(out, field.value, each, `${path}[${index}]`);
    }
  } else if (values.length > 0) {
    const packed = new Out();
    for (const [index, each] of values.entries()) {
      writeValue(packed, field.value, each, `${path}[${index}]`);
    }
    out.tag(field.number, BYTES);
    out.bytes(packed.take());
  }
}

function writeMap(out: Out, { number, value }: FieldType, values: Fields, path: string): void {
  for (const key of Object.keys(values)) {
    const entry = new Out();
    entry.tag(MAP_KEY, BYTES);
    entry.bytes(Buffer.from(key));
    entry.tag(MAP_VALUE, wireTypeOf(value));
    writeValue(entry, value, values[key], `${path}.${key}`);
    out.tag(number, BYTES);
    out.bytes(entry.take());
  }
}

function writeValue(out: Out, type: ValueType, value: unknown, path: string): void {
  if (type.kind === "message") {
    if (typeof value !== "object" || value === null) throw wrong(path, "an object", value);
    const inner = new Out();
    writeMessage(inner, messageType(type.name), value as Fields, path);
    out.bytes(inner.take());
    return;
  }
  switch (type.kind === "enum" ? "int32" : type.scalar) {
    case "string":
      if (typeof value !== "string") throw wrong(path, "a text", value);
      return out.bytes(Buffer.from(value));
    case "bytes":
      if (!(value instanceof Uint8Array)) throw wrong(path, "bytes", value);
      return out.bytes(value);
    case "bool":
      if (typeof value !== "boolean") throw wrong(path, "true or false", value);
      return out.varint(value ? 1 : 0);
    case "double":
      if (typeof value !== "number") throw wrong(path, "a number", value);
      return out.double(value);
    case "int32":
      return out.signed(whole(value, -(2 ** 31), 2 ** 31 - 1, path));
    case "uint32":
      return out.varint(whole(value, 0, 2 ** 32 - 1, path));
    case "int64":
      return out.signed(long(value, path));
  }
}

function whole(value: unknown, minimum: number, maximum: number, path: string): number {
  if (Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum) {
    return value as number;
  }
  throw wrong(path, `a whole number from ${minimum} to ${maximum}`, value);
}

function long(value: unknown, path: string): number | bigint {
  if (Number.isSafeInteger(value)) return value as number;
  if (typeof value === "bigint" && BigInt.asIntN(64, value) === value) return value;
  throw wrong(path, "a whole number of 64 bits", value);
}

const wrong = (path: string, words: string, value: unknown) => {
  const isShort = typeof value === "string" || typeof value === "number";
  return invalid(
    path,
    `must be ${words}, not ${isShort ? value : `a value of type ${typeof value}`}`,
  );
};

const FIRST_BYTES = 64;

/** Bytes that grow. */
class Out {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #at = 0;

  take(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }

  tag(number: number, wireType: number): void {
    this.varint(number * 8 + wireType);
  }

  /** Not negative, and exact as a number. */
  varint(value: number): void {
    this.#reserve(10);
    let rest = value;
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) {
      this.#buffer[this.#at++] = (rest % 128) | 0x80;
    }
    this.#buffer[this.#at++] = rest;
  }

  /** Negative numbers take ten bytes. */
  signed(value: number | bigint): void {
    if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) return this.varint(Number(value));
    this.#reserve(10);
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 0x7fn; rest >>= 7n) {
      this.#buffer[this.#at++] = Number(rest & 0x7fn) | 0x80;
    }
    this.#buffer[this.#at++] = Number(rest);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at = this.#buffer.writeDoubleLE(value, this.#at);
  }

  /** With their length before them. */
  bytes(bytes: Uint8Array): void {
    this.varint(bytes.byteLength);
    this.#reserve(bytes.byteLength);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.byteLength;
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + count));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}
