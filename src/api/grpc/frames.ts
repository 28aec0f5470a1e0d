import { gunzipSync, inflateSync } from "node:zlib";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

// A message of gRPC: one byte that tells whether it is compressed, four that tell its length.
const HEAD_BYTES = 5;

export function frameMessage(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + message.byteLength);
  frame[0] = 0;
  frame.writeUInt32BE(message.byteLength, 1);
  frame.set(message, HEAD_BYTES);
  return frame;
}

/** Puts messages together from the bytes of a stream, however these were cut. */
export class MessageReader {
  readonly #encoding: string;
  /** Of one message. May be raised before the first byte is pushed. */
  bytesMax: number = limits.messageBytesMax;
  #chunks: Buffer[] = [];
  #size = 0;

  /** `encoding` is how compressed messages are compressed, as the caller's headers say. */
  constructor(encoding: string) {
    this.#encoding = encoding;
  }

  /** Whether a message has begun and not ended. */
  get isInside(): boolean {
    return this.#size > 0;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
  }

  /** The next message that is complete. Throws AppError when it cannot be taken. */
  next(): Buffer | undefined {
    if (this.#size < HEAD_BYTES) return undefined;
    if ((this.#chunks[0]?.length ?? 0) < HEAD_BYTES) this.#join();
    const length = this.#chunks[0]?.readUInt32BE(1) ?? 0;
    if (length > this.bytesMax) throw tooLarge(length, this.bytesMax);
    if (this.#size < HEAD_BYTES + length) return undefined;
    if (this.#chunks.length > 1) this.#join();
    return this.#take(length);
  }

  #join(): void {
    this.#chunks = [Buffer.concat(this.#chunks)];
  }

  #take(length: number): Buffer {
    const bytes = this.#chunks[0] as Buffer;
    const end = HEAD_BYTES + length;
    this.#size = bytes.length - end;
    this.#chunks = this.#size === 0 ? [] : [bytes.subarray(end)];
    const message = bytes.subarray(HEAD_BYTES, end);
    return bytes[0] === 0 ? message : decompress(message, this.#encoding, this.bytesMax);
  }
}

const tooLarge = (bytes: number, bytesMax: number): AppError =>
  new AppError("exhausted", `a message of ${bytes} bytes is larger than max: ${bytesMax}`);

/** At once: messages must stay in order, few callers compress, and what comes out is bounded. */
function decompress(message: Buffer, encoding: string, bytesMax: number): Buffer {
  const options = { maxOutputLength: bytesMax };
  try {
    if (encoding === "gzip") return gunzipSync(message, options);
    if (encoding === "deflate") return inflateSync(message, options);
  } catch (cause) {
    if (cause instanceof RangeError) throw tooLarge(bytesMax + 1, bytesMax);
    throw new AppError("invalid_argument", `the message is not ${encoding}`, { cause });
  }
  throw new AppError("invalid_argument", `messages compressed as "${encoding}" are not taken`);
}
