import {
  FLAG,
  FRAME,
  FRAME_HEAD_BYTES,
  FRAME_PAYLOAD_BYTES_MAX,
} from "../../../../lib/http2/frames.ts";
import { limits } from "../../../../limits.ts";

const SCRATCH_BYTES = 64 * 1_024;
/** Sets the size of the table of the client's decoder to 0: this server never refers to it. */
const NO_TABLE = Buffer.of(0x20);

/**
 * Frames that go to one socket at once. Small ones are put together in a buffer that all connections share; larger messages stay where they are,
 * because many watches may send the same bytes.
 */
class FrameBatch {
  readonly #scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  #at = 0;
  #parts: Buffer[] = [];
  bytes = 0;

  /** Frames that are encoded already. */
  frames(bytes: Buffer): void {
    this.#copy(bytes, 0, bytes.length);
  }

  data(streamId: number, bytes: Buffer, from: number, to: number): void {
    this.#head(to - from, FRAME.DATA, 0, streamId);
    if (to - from <= limits.http2CopyBytesMax) return this.#copy(bytes, from, to);
    this.#spill();
    this.#parts.push(bytes.subarray(from, to));
    this.bytes += to - from;
  }

  /** Headers or trailers; `isFirst`: no headers went to this client before. */
  headers(streamId: number, block: Buffer, isLast: boolean, isFirst: boolean): void {
    const first = isFirst ? NO_TABLE.length : 0;
    const flags = isLast ? FLAG.END_STREAM : 0;
    let end = Math.min(block.length, FRAME_PAYLOAD_BYTES_MAX - first);
    const lastFlag = (): number => (end === block.length ? FLAG.END_HEADERS : 0);
    this.#head(first + end, FRAME.HEADERS, flags | lastFlag(), streamId);
    if (isFirst) this.#copy(NO_TABLE, 0, first);
    this.#copy(block, 0, end);
    while (end < block.length) {
      const start = end;
      end = Math.min(block.length, start + FRAME_PAYLOAD_BYTES_MAX);
      this.#head(end - start, FRAME.CONTINUATION, lastFlag(), streamId);
      this.#copy(block, start, end);
    }
  }

  /** The bytes of all frames, in order; the batch is empty after that. */
  take(): readonly Buffer[] {
    this.#spill();
    const parts = this.#parts;
    this.#parts = [];
    this.bytes = 0;
    return parts;
  }

  #head(length: number, type: number, flags: number, streamId: number): void {
    if (this.#at + FRAME_HEAD_BYTES > SCRATCH_BYTES) this.#spill();
    const scratch = this.#scratch;
    const at = this.#at;
    scratch[at] = length >> 16;
    scratch[at + 1] = length >> 8;
    scratch[at + 2] = length;
    scratch[at + 3] = type;
    scratch[at + 4] = flags;
    scratch[at + 5] = streamId >> 24;
    scratch[at + 6] = streamId >> 16;
    scratch[at + 7] = streamId >> 8;
    scratch[at + 8] = streamId;
    this.#at = at + FRAME_HEAD_BYTES;
    this.bytes += FRAME_HEAD_BYTES;
  }

  #copy(bytes: Buffer, from: number, to: number): void {
    if (this.#at + to - from > SCRATCH_BYTES) this.#spill();
    bytes.copy(this.#scratch, this.#at, from, to);
    this.#at += to - from;
    this.bytes += to - from;
  }

  #spill(): void {
    if (this.#at > 0) this.#parts.push(Buffer.from(this.#scratch.subarray(0, this.#at)));
    this.#at = 0;
  }
}

export type { FrameBatch };

/** One for all connections: a batch is filled and taken without a pause. */
export const sharedBatch = new FrameBatch();
