import { AppError } from "../errors.ts";

let known: ReturnType<typeof formats> | undefined;

/** An import would load all of it for every command, and few messages are packed. */
function formats() {
  const { gunzip, gunzipSync, inflate, inflateSync } = process.getBuiltinModule("node:zlib");
  const { promisify } = process.getBuiltinModule("node:util");
  return new Map([
    ["gzip", { atOnce: gunzipSync, later: promisify(gunzip) }],
    ["deflate", { atOnce: inflateSync, later: promisify(inflate) }],
  ]);
}

export interface Packed {
  readonly bytes: Buffer;
  readonly encoding: string;
  /** The limit of the unpacked bytes. */
  readonly bytesMax: number;
}

/** Unpacks on this thread: for small messages only. Throws AppError. */
export function unpackAtOnce({ bytes, encoding, bytesMax }: Packed): Buffer {
  const { atOnce } = unpackerOf(encoding);
  try {
    return atOnce(bytes, { maxOutputLength: bytesMax });
  } catch (cause) {
    throw unpackRefusal(cause, encoding, bytesMax);
  }
}

/** The function that unpacks an encoding. Throws AppError. */
export function unpackerOf(encoding: string) {
  const format = (known ??= formats()).get(encoding);
  if (format !== undefined) return format;
  throw new AppError("invalid_argument", `messages compressed as "${encoding}" are not supported`);
}

/** Why unpacking failed. */
export const unpackRefusal = (cause: unknown, encoding: string, bytesMax: number): AppError =>
  cause instanceof RangeError
    ? tooLarge(bytesMax + 1, bytesMax)
    : new AppError("invalid_argument", `the message is not ${encoding}`, { cause });

export const tooLarge = (bytes: number, bytesMax: number): AppError =>
  new AppError(
    "exhausted",
    `a message of ${bytes} bytes is larger than max: ${bytesMax}; send less in one call`,
  );
