import { constants, crc32, deflateRawSync } from "node:zlib";
import { invariant } from "../invariant.ts";

/** The length before compression. */
interface Sum {
  readonly crc: number;
  /** Moves a checksum of the bytes before this piece past it. */
  readonly shift: number;
  readonly bytes: number;
}

const STORED_BYTES_MAX = 0xffff;
const FAST = 1;
const STORED = 0;
// Method 8 (deflate), no flags, no time, fastest, unknown system.
const HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff]);
// An empty stored block that is not the last one.
const FLUSH = Buffer.from([0, 0, 0, 0xff, 0xff]);
// The format requires a block that is marked as the last one: an empty stored block.
const LAST_BLOCK = Buffer.from([1, 0, 0, 0xff, 0xff]);

const sums = new WeakMap<Buffer, Sum>();

/**
 * Bytes as a piece of a gzip stream. A piece ends at a whole byte and refers to nothing before it, so that many streams can share it: any
 * pieces in any order form a stream.
 *
 * Compressed fast (level 1); without `isCompressed` the bytes stay as they are, with 5 more for each 64 KiB and 5 at the end. A piece ends
 * with an empty block, as writers produce when they flush: Go's decoder returns nothing of a short block before it.
 */
export function gzipPiece(plain: Buffer, isCompressed: boolean): Buffer {
  const piece =
    !isCompressed && plain.length <= STORED_BYTES_MAX
      ? storedBlock(plain)
      : deflateRawSync(plain, {
          level: isCompressed ? FAST : STORED,
          finishFlush: constants.Z_FULL_FLUSH,
        });
  sums.set(piece, { crc: crc32(plain), shift: shiftPast(plain.length), bytes: plain.length });
  return piece;
}

function storedBlock(plain: Buffer): Buffer {
  const block = Buffer.allocUnsafe(5 + plain.length + FLUSH.length);
  block[0] = 0;
  block.writeUInt16LE(plain.length, 1);
  block.writeUInt16LE(plain.length ^ STORED_BYTES_MAX, 3);
  block.set(plain, 5);
  block.set(FLUSH, 5 + plain.length);
  return block;
}

/** One stream of shared pieces: `head`, then any number of pieces (`add` each one as it is sent), then `end`. */
export class GzipStream {
  readonly head: Buffer = HEAD;
  #crc = 0;
  #bytes = 0;

  add(piece: Buffer): void {
    const sum = sums.get(piece);
    invariant(sum !== undefined, "a gzip stream is made of pieces");
    this.#crc = (multiply(sum.shift, this.#crc) ^ sum.crc) >>> 0;
    this.#bytes = (this.#bytes + sum.bytes) >>> 0;
  }

  /** The last piece, with the checksum of the whole stream. */
  end(last: Buffer): Buffer {
    const piece = gzipPiece(last, false);
    this.add(piece);
    const check = Buffer.allocUnsafe(8);
    check.writeUInt32LE(this.#crc, 0);
    check.writeUInt32LE(this.#bytes, 4);
    return Buffer.concat([piece, LAST_BLOCK, check]);
  }
}

/*
 * A CRC is a polynomial modulo another. The CRC of two texts in sequence is the CRC of the first times x to the power of the second's bits,
 * plus the CRC of the second. So each stream needs one multiplication for each shared piece, and never reads the bytes. Bits are in the
 * order of gzip: the highest is x^0.
 */
const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;

function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= factor;
    factor = (factor & 1) === 0 ? factor >>> 1 : (factor >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}

/** x to the power of 8, 16, 32, …: one step for each bit of a length in bytes. */
const POWERS = [0x00800000];
while (POWERS.length < 32) POWERS.push(multiply(POWERS.at(-1) ?? 0, POWERS.at(-1) ?? 0));

function shiftPast(bytes: number): number {
  let shift = ONE;
  for (let left = bytes, at = 0; left > 0; left >>>= 1, at++) {
    if ((left & 1) === 1) shift = multiply(POWERS[at] ?? 0, shift);
  }
  return shift;
}
