import { type Packed, unpackerOf, unpackRefusal } from "../../../lib/grpc/unpack.ts";
import { limits } from "../../../limits.ts";

/** Large pieces: each goes to zlib's threads and back. */
const PIECE_BYTES = 256 * 1_024;

/**
 * Unpacks in zlib's threads. Few at a time: the output is charged only when it exists, and zlib holds the
 * pieces of a message of an ended call until it is done.
 */
export class Unpacking {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Undefined when `isWanted` is false before its turn. Rejects with AppError. */
  async unpack(
    { bytes, encoding, bytesMax }: Packed,
    isWanted: () => boolean,
  ): Promise<Buffer | undefined> {
    const { later } = unpackerOf(encoding);
    if (this.#running >= limits.unpackingsAtOnceMax) {
      await new Promise<void>((start) => this.#waiting.push(start));
    } else this.#running++;
    try {
      if (!isWanted()) return undefined;
      return await later(bytes, { maxOutputLength: bytesMax, chunkSize: PIECE_BYTES });
    } catch (cause) {
      throw unpackRefusal(cause, encoding, bytesMax);
    } finally {
      // The next waiting message takes over the place.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
