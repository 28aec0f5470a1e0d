import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { type FieldType, type MessageType, messageType, type ValueType } from "../message-types.ts";
import {
  BYTES,
  FIXED32,
  FIXED64,
  isPackable,
  MAP_KEY,
  MAP_VALUE,
  VARINT,
  wireTypeOf,
} from "./wire-types.ts";

type Fields = Record<string, unknown>;

/**
 * A message as generated types describe it, of protobuf's bytes. Fields that this version does not know are left out.
 * Throws AppError for bytes that are no message.
 */
export const decodeMessage = (type: MessageType, bytes: Uint8Array): object =>
  readMessage(new Input(bytes), type, emptyMessage(type), 0);

/** A message in which nothing is set. */
export function emptyMessage({ typeName, fields }: MessageType): Fields {
  const message: Fields = { $typeName: typeName };
  for (const { name, many, value, hasPresence, oneof } of fields) {
    if (oneof !== undefined) message[oneof] ??= { case: undefined };
    else if (many === "list") message[name] = [];
    else if (many === "map") message[name] = {};
    else if (!hasPresence) message[name] = zeroOf(value);
  }
  return message;
}

function zeroOf(type: ValueType): unknown {
  if (type.kind === "message") return emptyMessage(messageType(type.name));
  if (type.kind === "enum") return 0;
  switch (type.scalar) {
    case "string":
      return "";
    case "bytes":
      return new Uint8Array(0);
    case "bool":
      return false;
    case "int64":
      return 0n;
    case "double":
    case "int32":
    case "uint32":
      return 0;
  }
}

function readMessage(input: Input, { byNumber }: MessageType, into: Fields, depth: number): Fields {
  if (depth > limits.messageDepthMax) throw unreadable("it is nested too deeply");
  while (!input.isAtEnd) {
    const tag = input.varint();
    const wireType = tag & 7;
    const field = byNumber.get(Math.floor(tag / 8));
    if (field === undefined || !readField(input, { field, wireType, into, depth })) {
      input.skip(wireType);
    }
  }
  return into;
}

interface Place {
  readonly field: FieldType;
  readonly wireType: number;
  readonly into: Fields;
  readonly depth: number;
}

/** False: its bytes are laid out like those of another type; nothing was read. */
function readField(input: Input, { field, wireType, into, depth }: Place): boolean {
  const { name, many, value, oneof } = field;
  const isPacked = wireType === BYTES && isPackable(field);
  const expected = many === "map" ? BYTES : wireTypeOf(value);
  if (wireType !== expected && !isPacked) return false;
  if (many === "map") {
    readEntry(input.part(), value, into[name] as Fields, depth);
  } else if (isPacked) {
    const part = input.part();
    while (!part.isAtEnd) (into[name] as unknown[]).push(readValue(part, value, depth));
  } else if (many === "list") {
    (into[name] as unknown[]).push(readValue(input, value, depth));
  } else if (oneof !== undefined) {
    const before = into[oneof] as { readonly case?: string; readonly value?: unknown };
    const same = before.case === name ? before.value : undefined;
    into[oneof] = { case: name, value: readValue(input, value, depth, same) };
  } else {
    into[name] = readValue(input, value, depth, into[name]);
  }
  return true;
}

function readEntry(input: Input, type: ValueType, into: Fields, depth: number): void {
  let key = "";
  let value: unknown;
  while (!input.isAtEnd) {
    const tag = input.varint();
    if (tag === MAP_KEY * 8 + BYTES) key = input.text();
    else if (tag === MAP_VALUE * 8 + wireTypeOf(type)) value = readValue(input, type, depth);
    else input.skip(tag & 7);
  }
  // An assignment would set the prototype under that name.
  const entry = { value: value ?? zeroOf(type), enumerable: true, configurable: true };
  Object.defineProperty(into, key, { ...entry, writable: true });
}

/** `before`: a message that was read already, and goes on here. */
function readValue(input: Input, type: ValueType, depth: number, before?: unknown): unknown {
  if (type.kind === "message") {
    const inner = messageType(type.name);
    const into = (before as Fields | undefined) ?? emptyMessage(inner);
    return readMessage(input.part(), inner, into, depth + 1);
  }
  if (type.kind === "enum") return input.varint() | 0;
  switch (type.scalar) {
    case "string":
      return input.text();
    case "bytes":
      return input.bytes();
    case "bool":
      return input.long() !== 0n;
    case "double":
      return input.double();
    case "int32":
      return input.varint() | 0;
    case "uint32":
      return input.varint() >>> 0;
    case "int64":
      return input.long();
  }
}

const unreadable = (why: string): AppError =>
  new AppError("internal", `the answer is not a message of this API: ${why}`);

const VARINT_BYTES_MAX = 10;

class Input {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Its low 32 bits are exact, whatever follows; all of it up to 2^53. */
  varint(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < VARINT_BYTES_MAX; count++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw unreadable("it is cut off");
      // Beyond 49 bits a sum would lose the low ones, which are all that such numbers are read for.
      if (count < 7) value += (byte & 0x7f) * scale;
      scale *= 128;
      if (byte < 0x80) return value;
    }
    throw unreadable("a number is too long");
  }

  long(): bigint {
    const start = this.#at;
    const value = this.varint();
    if (this.#at - start <= 7) return BigInt(value);
    let exact = 0n;
    for (let at = this.#at - 1; at >= start; at--) {
      exact = (exact << 7n) | BigInt((this.#bytes[at] ?? 0) & 0x7f);
    }
    return BigInt.asIntN(64, exact);
  }

  double(): number {
    const start = this.#at;
    this.#move(8);
    return this.#bytes.readDoubleLE(start);
  }

  text(): string {
    return this.bytes().toString("utf8");
  }

  bytes(): Buffer {
    const length = this.varint();
    const start = this.#at;
    this.#move(length);
    return this.#bytes.subarray(start, this.#at);
  }

  part(): Input {
    return new Input(this.bytes());
  }

  skip(wireType: number): void {
    if (wireType === VARINT) this.varint();
    else if (wireType === FIXED64) this.#move(8);
    else if (wireType === BYTES) this.bytes();
    else if (wireType === FIXED32) this.#move(4);
    else throw unreadable(`fields of kind ${wireType} are not used`);
  }

  #move(count: number): void {
    this.#at += count;
    if (this.#at > this.#bytes.length) throw unreadable("it is cut off");
  }
}
