import { promisify } from "node:util";
import { gunzip, gunzipSync, inflate, inflateSync } from "node:zlib";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";

const FORMATS = new Map([
  ["gzip", { atOnce: gunzipSync, later: promisify(gunzip) }],
  ["deflate", { atOnce: inflateSync, later: promisify(inflate) }],
]);
/** A large piece at a time: each goes to zlib's threads and back. */
const PIECE_BYTES = 256 * 1_024;

export interface Packed {
  readonly bytes: Buffer;
  readonly encoding: string;
  /** Of what comes out. */
  readonly bytesMax: number;
}

/** On this thread: only for what is small. Throws AppError. */
export function unpackAtOnce({ bytes, encoding, bytesMax }: Packed): Buffer {
  const { atOnce } = formatOf(encoding);
  try {
    return atOnce(bytes, { maxOutputLength: bytesMax });
  } catch (cause) {
    throw refusal(cause, encoding, bytesMax);
  }
}

/**
 * Unpacks in zlib's threads. Few at a time: what comes out is charged when it is there, and the
 * pieces of one that nobody wants any more are held to its end.
 */
export class Unpacking {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Undefined when `isWanted` says so before its turn. Rejects with AppError. */
  async unpack(
    { bytes, encoding, bytesMax }: Packed,
    isWanted: () => boolean,
  ): Promise<Buffer | undefined> {
    const { later } = formatOf(encoding);
    if (this.#running >= limits.unpackingsAtOnceMax) {
      await new Promise<void>((start) => this.#waiting.push(start));
    } else this.#running++;
    try {
      if (!isWanted()) return undefined;
      return await later(bytes, { maxOutputLength: bytesMax, chunkSize: PIECE_BYTES });
    } catch (cause) {
      throw refusal(cause, encoding, bytesMax);
    } finally {
      // Whoever waits takes over the place.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

function formatOf(encoding: string) {
  const format = FORMATS.get(encoding);
  if (format !== undefined) return format;
  throw new AppError("invalid_argument", `messages compressed as "${encoding}" are not taken`);
}

const refusal = (cause: unknown, encoding: string, bytesMax: number): AppError =>
  cause instanceof RangeError
    ? tooLarge(bytesMax + 1, bytesMax)
    : new AppError("invalid_argument", `the message is not ${encoding}`, { cause });

export const tooLarge = (bytes: number, bytesMax: number): AppError =>
  new AppError("exhausted", `a message of ${bytes} bytes is larger than max: ${bytesMax}`);
