import { promisify } from "node:util";
import { gunzip, gunzipSync, inflate, inflateSync } from "node:zlib";
import { AppError } from "../errors.ts";

const FORMATS = new Map([
  ["gzip", { atOnce: gunzipSync, later: promisify(gunzip) }],
  ["deflate", { atOnce: inflateSync, later: promisify(inflate) }],
]);

export interface Packed {
  readonly bytes: Buffer;
  readonly encoding: string;
  /** Of what comes out. */
  readonly bytesMax: number;
}

/** Unpacks on this thread: only for small messages. Throws AppError. */
export function unpackAtOnce({ bytes, encoding, bytesMax }: Packed): Buffer {
  const { atOnce } = unpackerOf(encoding);
  try {
    return atOnce(bytes, { maxOutputLength: bytesMax });
  } catch (cause) {
    throw unpackRefusal(cause, encoding, bytesMax);
  }
}

/** How to unpack an encoding. Throws AppError. */
export function unpackerOf(encoding: string) {
  const format = FORMATS.get(encoding);
  if (format !== undefined) return format;
  throw new AppError("invalid_argument", `messages compressed as "${encoding}" are not taken`);
}

/** Why a message could not be unpacked. */
export const unpackRefusal = (cause: unknown, encoding: string, bytesMax: number): AppError =>
  cause instanceof RangeError
    ? tooLarge(bytesMax + 1, bytesMax)
    : new AppError("invalid_argument", `the message is not ${encoding}`, { cause });

export const tooLarge = (bytes: number, bytesMax: number): AppError =>
  new AppError("exhausted", `a message of ${bytes} bytes is larger than max: ${bytesMax}`);
