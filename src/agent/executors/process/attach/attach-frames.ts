import type { StreamPart, TerminalSize } from "../../../../ports/attached-run.ts";
import { limits } from "../../../../limits.ts";

/** The messages of a run's program (attach.c). */
export type AttachFrame =
  | { readonly kind: "opened"; readonly inputOffset: number }
  | { readonly kind: "part"; readonly part: StreamPart }
  | { readonly kind: "seen"; readonly offset: number };

const HEAD_BYTES = 5;
const NO_SIZE: TerminalSize = { rows: 0, columns: 0 };
const NOTHING = new Uint8Array(0);

/** A letter and the length of the rest; offsets have 8 bytes, most significant first. */
function frame(letter: string, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + length);
  bytes.write(letter, 0, "latin1");
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

function offsetFrame(letter: string, offset: number, more = 0): Buffer {
  const bytes = frame(letter, 8 + more);
  bytes.writeBigUInt64BE(BigInt(offset), HEAD_BYTES);
  return bytes;
}

function putSize(bytes: Buffer, at: number, { rows, columns }: TerminalSize): Buffer {
  bytes.writeUInt16BE(Math.min(rows, 0xffff), at);
  bytes.writeUInt16BE(Math.min(columns, 0xffff), at + 2);
  return bytes;
}

export const encodeOpen = (outputOffset: number, size: TerminalSize = NO_SIZE): Buffer =>
  putSize(offsetFrame("O", outputOffset, 4), HEAD_BYTES + 8, size);

export const encodeSize = (size: TerminalSize): Buffer => putSize(frame("W", 4), HEAD_BYTES, size);

export const encodeSeen = (offset: number): Buffer => offsetFrame("A", offset);

export function encodePart({ offset, data, end }: StreamPart): Buffer {
  const frames: Buffer[] = [];
  if (data.length > 0) {
    const bytes = offsetFrame("D", offset, data.length);
    bytes.set(data, HEAD_BYTES + 8);
    frames.push(bytes);
  }
  if (end) frames.push(offsetFrame("E", offset + data.length));
  return frames.length === 1 ? (frames[0] ?? Buffer.alloc(0)) : Buffer.concat(frames);
}

/** Parses frames from pieces of any size. */
export class AttachFrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Throws an Error when the bytes cannot be a frame. */
  read(bytes: Buffer): AttachFrame[] {
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const found: AttachFrame[] = [];
    while (rest.length >= HEAD_BYTES) {
      const length = rest.readUInt32BE(1);
      if (length < 8 || length > limits.attachPartBytesMax + 8) {
        throw new Error(`a frame of ${length} bytes`);
      }
      if (rest.length < HEAD_BYTES + length) break;
      const letter = String.fromCharCode(rest[0] ?? 0);
      found.push(decode(letter, rest.subarray(HEAD_BYTES, HEAD_BYTES + length)));
      rest = rest.subarray(HEAD_BYTES + length);
    }
    // Copies the rest: a slice would retain the whole piece.
    this.#rest = Buffer.from(rest);
    return found;
  }
}

function decode(letter: string, body: Buffer): AttachFrame {
  const offset = Number(body.readBigUInt64BE(0));
  switch (letter) {
    case "O":
      return { kind: "opened", inputOffset: offset };
    case "A":
      return { kind: "seen", offset };
    case "D":
      return { kind: "part", part: { offset, data: body.subarray(8), end: false } };
    case "E":
      return { kind: "part", part: { offset, data: NOTHING, end: true } };
    default:
      throw new Error(`a frame that begins with ${JSON.stringify(letter)}`);
  }
}
