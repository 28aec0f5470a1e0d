import { isAscii } from "node:buffer";

/**
 * The handwritten reader reads the usual encodings of clients. For anything else that protobuf allows it throws this, and the generated
 * decoder reads the message.
 */
export class Unusual extends Error {}

// Made once: creating an error costs more than decoding a message.
const UNUSUAL = new Unusual("not what clients usually write");

export function unusual(): never {
  throw UNUSUAL;
}

const SHORT_CHARS = 64;
const NUMBER_BYTES_MAX = 8; // longer than 53 bits need

/** Reads protobuf's wire format from bytes, between two positions. */
export class WireReader {
  readonly #bytes: Buffer;
  #at: number;
  #end: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = 0;
    this.#end = bytes.byteLength;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  /** Enters a nested message; `leave` takes the returned value to continue after it. */
  enter(): number {
    const outer = this.#end;
    this.#end = this.#skipLength();
    return outer;
  }

  leave(outer: number): void {
    this.#at = this.#end;
    this.#end = outer;
  }

  /** Skips a nested message. */
  skip(): void {
    this.#at = this.#skipLength();
  }

  #skipLength(): number {
    const end = this.number() + this.#at;
    return end > this.#end ? unusual() : end;
  }

  /** A non-negative integer without loss; also a tag. */
  number(): number {
    const bytes = this.#bytes;
    let value = 0;
    let scale = 1;
    const end = Math.min(this.#end, this.#at + NUMBER_BYTES_MAX);
    for (let at = this.#at; at < end; at++) {
      const byte = bytes[at] as number;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        this.#at = at + 1;
        return value <= Number.MAX_SAFE_INTEGER ? value : unusual();
      }
      scale *= 128;
    }
    return unusual();
  }

  double(): number {
    const at = this.#at;
    if (at + 8 > this.#end) unusual();
    this.#at = at + 8;
    return this.#bytes.readDoubleLE(at);
  }

  /** Returns `like` itself when the text is equal: a thousand jobs then share one string. */
  text(like: string): string {
    const end = this.#skipLength();
    const start = this.#at;
    const bytes = this.#bytes;
    this.#at = end;
    if (end - start > SHORT_CHARS) {
      return isAscii(bytes.subarray(start, end)) ? bytes.toString("latin1", start, end) : unusual();
    }
    let isLike = end - start === like.length;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte > 0x7f) unusual();
      if (isLike && byte !== like.charCodeAt(at - start)) isLike = false;
    }
    return isLike ? like : bytes.toString("latin1", start, end);
  }
}
