import { ByteBlocks } from "../bytes/byte-blocks.ts";
import { tooLarge } from "./unpack.ts";

// Each gRPC message has a prefix: one byte that says whether it is compressed, four for its length.
const HEAD_BYTES = 5;
const EMPTY = Buffer.alloc(0);

export function frameMessage(message: Uint8Array, isPacked = false): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + message.byteLength);
  frame[0] = isPacked ? 1 : 0;
  frame.writeUInt32BE(message.byteLength, 1);
  frame.set(message, HEAD_BYTES);
  return frame;
}

/** The messages of complete, uncompressed frames, in order. */
export function* messagesOf(frames: Buffer): Generator<Buffer, void, undefined> {
  let at = 0;
  while (at < frames.length) {
    const start = at + HEAD_BYTES;
    at = start + frames.readUInt32BE(at + 1);
    yield frames.subarray(start, at);
  }
}

/** Assembles messages from the bytes of a stream, however the stream is cut. */
export class MessageReader {
  /** The limit of one message. The caller may raise it before it pushes the first byte. */
  bytesMax: number;
  /** The size of the last message on the wire. */
  takenBytes = 0;
  /** Whether the last message is compressed. */
  isPacked = false;
  /** The beginning of an incomplete message; then `#fresh` is undefined. */
  readonly #begun = new ByteBlocks();
  #fresh: Buffer = EMPTY;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Whether a message is incomplete. */
  get isInside(): boolean {
    return this.#size > 0;
  }

  /** The size of the incomplete message, as far as it is known. */
  get announced(): number {
    return this.#size < HEAD_BYTES ? this.#size : HEAD_BYTES + this.#head.readUInt32BE(1);
  }

  push(chunk: Buffer): void {
    if (this.#begun.length === 0 && this.#fresh.length === 0) {
      this.#fresh = chunk;
      return;
    }
    this.compact();
    this.#begun.append(chunk);
  }

  /** Copies bytes that must wait out of the array that brought them. */
  compact(): void {
    this.#begun.append(this.#fresh);
    this.#fresh = EMPTY;
  }

  clear(): void {
    this.#begun.clear();
    this.#fresh = EMPTY;
  }

  /** The next complete message, unchanged. Throws AppError when the message is not acceptable. */
  next(): Buffer | undefined {
    if (this.#size < HEAD_BYTES) return undefined;
    const length = this.#head.readUInt32BE(1);
    if (length > this.bytesMax) throw tooLarge(length, this.bytesMax);
    if (this.#size < HEAD_BYTES + length) return undefined;
    if (this.#begun.length > 0) this.#fresh = this.#begun.take();
    return this.#take(length);
  }

  get #size(): number {
    return this.#begun.length + this.#fresh.length;
  }

  get #head(): Buffer {
    return this.#begun.length > 0 ? this.#begun.head : this.#fresh;
  }

  #take(length: number): Buffer {
    const bytes = this.#fresh;
    const end = HEAD_BYTES + length;
    this.takenBytes = end;
    this.#fresh = end === bytes.length ? EMPTY : bytes.subarray(end);
    this.isPacked = bytes[0] !== 0;
    return bytes.subarray(HEAD_BYTES, end);
  }
}
