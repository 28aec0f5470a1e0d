import type { HeaderField } from "../header-field.ts";
import { huffmanCodeOf } from "../huffman.ts";

/** How one field is written. `resizeTo`: the table first gets this size. */
export interface EncodedHow {
  readonly form: "indexed" | "incremental" | "plain" | "sensitive";
  readonly isHuffman: boolean;
}

const STATIC_FIELDS = 61;

/** An encoder with its own table that writes each field in the requested way, where that is possible. */
export class ChoosingEncoder {
  #table: HeaderField[] = [];
  #capacity = 4_096;

  /** At the start of a block. */
  resize(capacity: number): Buffer {
    this.#capacity = capacity;
    this.#evict();
    return number(capacity, 5, 0x20);
  }

  field(field: HeaderField, { form, isHuffman }: EncodedHow): Buffer {
    const at = this.#table.findIndex((one) => one.name === field.name && one.value === field.value);
    if (form === "indexed" && at >= 0) return number(STATIC_FIELDS + 1 + at, 7, 0x80);
    const named = this.#table.findIndex(({ name }) => name === field.name);
    const index = named < 0 ? 0 : STATIC_FIELDS + 1 + named;
    const texts = [
      ...(index === 0 ? [text(field.name, isHuffman)] : []),
      text(field.value, isHuffman),
    ];
    if (form === "plain") return Buffer.concat([number(index, 4, 0x00), ...texts]);
    if (form === "sensitive") return Buffer.concat([number(index, 4, 0x10), ...texts]);
    this.#table.unshift({ ...field, isSensitive: false });
    this.#evict();
    return Buffer.concat([number(index, 6, 0x40), ...texts]);
  }

  #evict(): void {
    let size = 0;
    const fits = ({ name, value }: HeaderField): boolean =>
      (size += name.length + value.length + 32) <= this.#capacity;
    const end = this.#table.findIndex((field) => !fits(field));
    if (end >= 0) this.#table = this.#table.slice(0, end);
  }
}

export function number(value: number, prefixBits: number, pattern: number): Buffer {
  const max = 2 ** prefixBits - 1;
  if (value < max) return Buffer.of(pattern | value);
  const bytes = [pattern | max];
  let rest = value - max;
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

export function text(value: string, isHuffman: boolean): Buffer {
  const plain = Buffer.from(value, "latin1");
  if (!isHuffman) return Buffer.concat([number(plain.length, 7, 0), plain]);
  const bits = [...plain]
    .map((byte) => huffmanCodeOf(byte))
    .map(({ code, bits: length }) => code.toString(2).padStart(length, "0"))
    .join("");
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, "1");
  const packed = (padded.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return Buffer.concat([number(packed.length, 7, 0x80), Buffer.from(packed)]);
}
