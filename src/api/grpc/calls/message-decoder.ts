import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { isJsonText } from "../../../wire/special-fields.ts";
import { unusual, type WireReader } from "./wire-reader.ts";

/** A message as the input of an operation: absent fields stay undefined. */
export type Decoded = Record<string, unknown>;

/** A field's number and its wire type: 0 number, 1 eight bytes, 2 length and bytes. */
export const tag = (field: number, written: 0 | 1 | 2): number => field * 8 + written;

/** Reads a value; `before` is the value that the message already has. */
type Read = (wire: WireReader, before: unknown) => unknown;

interface Field {
  readonly name: string;
  readonly read: Read;
}

/**
 * Decodes messages of one type directly into the input of an operation, by a table made from the descriptor: a new field needs no code
 * here. It gives up (`unusual`) on a field of an unsupported type, on an unknown field, and on any encoding that clients do not usually
 * write.
 */
export class MessageDecoder {
  readonly #fields: (Field | undefined)[] = []; // by tag
  readonly #nothing: Readonly<Decoded>;

  constructor(desc: DescMessage) {
    this.#nothing = Object.fromEntries(desc.fields.map(({ localName }) => [localName, undefined]));
    for (const field of desc.fields) {
      const known = readerOf(field);
      if (known === undefined) continue;
      this.#fields[tag(field.number, known.written)] = { name: field.localName, read: known.read };
    }
  }

  /** All fields are absent. Always of the same shape, which makes reading it fast. */
  begin(): Decoded {
    return { ...this.#nothing };
  }

  readField(into: Decoded, at: number, wire: WireReader): void {
    const field = this.#fields[at];
    if (field === undefined) return unusual();
    into[field.name] = field.read(wire, into[field.name]);
  }

  read(wire: WireReader): Decoded {
    const outer = wire.enter();
    const decoded = this.begin();
    while (!wire.isAtEnd) this.readField(decoded, wire.number(), wire);
    wire.leave(outer);
    return decoded;
  }
}

interface Known {
  readonly written: 0 | 1 | 2;
  readonly read: Read;
}

function readerOf(field: DescField): Known | undefined {
  if (isJsonText(field.parent.typeName, field.localName) || field.oneof) return undefined;
  switch (field.fieldKind) {
    case "scalar":
      return SCALARS.get(field.scalar);
    case "enum":
      return undefined;
    case "message": {
      const { message } = field;
      const decoder = new MessageDecoder(message);
      return {
        written: 2,
        read: (wire, before) => (before === undefined ? decoder.read(wire) : unusual()),
      };
    }
    case "list":
      return listReader(field);
    case "map":
      return mapReader(field);
  }
}

const SCALARS: ReadonlyMap<ScalarType, Known> = new Map<ScalarType, Known>([
  [ScalarType.STRING, { written: 2, read: (wire) => wire.text("") }],
  [ScalarType.DOUBLE, { written: 1, read: (wire) => wire.double() }],
  [ScalarType.INT32, { written: 0, read: (wire) => atMost(wire.number(), 0x7fff_ffff) }],
  [ScalarType.UINT32, { written: 0, read: (wire) => atMost(wire.number(), 0xffff_ffff) }],
  [ScalarType.INT64, { written: 0, read: (wire) => wire.number() }],
]);

const atMost = (value: number, most: number): number => (value <= most ? value : unusual());

function listReader(field: DescField & { fieldKind: "list" }): Known | undefined {
  const decoder = field.message && new MessageDecoder(field.message);
  if (decoder === undefined && field.scalar !== ScalarType.STRING) return undefined;
  const item = decoder === undefined ? textOf : (wire: WireReader) => decoder.read(wire);
  return {
    written: 2,
    read(wire, before) {
      const list = (before ?? []) as unknown[];
      list.push(item(wire));
      return list;
    },
  };
}

const textOf = (wire: WireReader): string => wire.text("");

function mapReader(field: DescField & { fieldKind: "map" }): Known | undefined {
  if (field.mapKind !== "scalar" || field.mapKey !== ScalarType.STRING) return undefined;
  const isText = field.scalar === ScalarType.STRING;
  if (!isText && field.scalar !== ScalarType.DOUBLE) return undefined;
  const valueTag = tag(2, isText ? 2 : 1);
  return {
    written: 2,
    read(wire, before) {
      const map = (before ?? {}) as Record<string, unknown>;
      const outer = wire.enter();
      let name = "";
      let value: unknown = isText ? "" : 0;
      while (!wire.isAtEnd) {
        const at = wire.number();
        if (at === KEY) name = wire.text("");
        else if (at === valueTag) value = isText ? wire.text("") : wire.double();
        else unusual();
      }
      wire.leave(outer);
      if (name === "__proto__") unusual();
      map[name] = value;
      return map;
    },
  };
}

const KEY = tag(1, 2);
