import { HpackError } from "./hpack-error.ts";
import { type HeaderField, sizeOf } from "./header-field.ts";
import { HeaderTable } from "./header-table.ts";
import { decodeHuffman } from "./huffman.ts";

/** Longer numbers exceed every allowed size and index. */
const NUMBER_MAX = 2 ** 28;

export interface HpackLimits {
  /** SETTINGS_HEADER_TABLE_SIZE of the server. */
  readonly tableBytes: number;
  /** For all headers of one request together. */
  readonly listBytes: number;
}

/** Decodes the header blocks of one connection's client, in order (RFC 7541). */
export class HpackDecoder {
  readonly #table: HeaderTable;
  readonly #listBytesMax: number;

  constructor({ tableBytes, listBytes }: HpackLimits) {
    this.#table = new HeaderTable(tableBytes);
    this.#listBytesMax = listBytes;
  }

  /** Grows with every change of the table: until then the same block has the same fields. */
  get tableChanges(): number {
    return this.#table.changes;
  }

  /** Throws HpackError; after that, nothing more of this connection can be decoded. */
  decode(block: Buffer): HeaderField[] {
    const input = new BlockReader(block);
    const fields: HeaderField[] = [];
    let listBytes = 0;
    while (!input.isAtEnd) {
      const field = this.#next(input, fields.length === 0);
      if (field === undefined) continue;
      listBytes += sizeOf(field);
      if (listBytes > this.#listBytesMax) throw new HpackError("the headers are too large");
      fields.push(field);
    }
    return fields;
  }

  /** Undefined: the size of the table changed. */
  #next(input: BlockReader, isFirst: boolean): HeaderField | undefined {
    const kind = input.peek();
    if (kind >= 0x80) return this.#table.at(input.number(7));
    if (kind >= 0x40) {
      const field = this.#literal(input, 6);
      this.#table.add(field);
      return field;
    }
    if (kind >= 0x20) {
      if (!isFirst) throw new HpackError("the table is resized within a block");
      this.#table.resize(input.number(5));
      return undefined;
    }
    return { ...this.#literal(input, 4), isSensitive: kind >= 0x10 };
  }

  #literal(input: BlockReader, prefixBits: number): HeaderField {
    const index = input.number(prefixBits);
    const name = index === 0 ? input.text() : this.#table.at(index).name;
    return { name, value: input.text(), isSensitive: false };
  }
}

class BlockReader {
  readonly #block: Buffer;
  #at = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#block.length;
  }

  peek(): number {
    const byte = this.#block[this.#at];
    if (byte === undefined) throw new HpackError("a field is cut off");
    return byte;
  }

  /** In the low bits of the next byte, and in more bytes where they do not suffice. */
  number(prefixBits: number): number {
    const prefixMax = 2 ** prefixBits - 1;
    let value = this.#byte() & prefixMax;
    if (value < prefixMax) return value;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (value > NUMBER_MAX || scale > NUMBER_MAX) throw new HpackError("a number is too large");
      if (byte < 0x80) return value;
    }
  }

  text(): string {
    const isHuffman = this.peek() >= 0x80;
    const length = this.number(7);
    const bytes = this.#block.subarray(this.#at, this.#at + length);
    if (bytes.length < length) throw new HpackError("a text is cut off");
    this.#at += length;
    return isHuffman ? decodeHuffman(bytes) : bytes.toString("latin1");
  }

  #byte(): number {
    const byte = this.peek();
    this.#at++;
    return byte;
  }
}
