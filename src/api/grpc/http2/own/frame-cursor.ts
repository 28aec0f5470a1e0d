import { HTTP2 } from "../../../../lib/http2/error-codes.ts";
import { FRAME_HEAD_BYTES, FRAME_PAYLOAD_BYTES_MAX } from "../../../../lib/http2/frames.ts";
import { Http2Error } from "./http2-error.ts";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const EMPTY = Buffer.alloc(0);

/**
 * Walks through the frames of a client, however their bytes were cut. Its fields describe the present frame, so that a frame costs no object.
 */
export class FrameCursor {
  type = 0;
  flags = 0;
  streamId = 0;
  /** Includes the payload of the present frame, from `start` to `end`. */
  bytes: Buffer = EMPTY;
  start = 0;
  end = 0;
  #at = 0;
  #hasPreface = false;

  push(chunk: Buffer): void {
    const isRead = this.#at === this.bytes.length;
    this.bytes = isRead ? chunk : Buffer.concat([this.bytes.subarray(this.#at), chunk]);
    this.#at = 0;
  }

  /** Whether there is a complete frame. Throws Http2Error. */
  next(): boolean {
    if (!this.#hasPreface && !this.#readPreface()) return false;
    const { bytes } = this;
    const start = this.#at + FRAME_HEAD_BYTES;
    if (start > bytes.length) return false;
    const length = bytes.readUIntBE(this.#at, 3);
    if (length > FRAME_PAYLOAD_BYTES_MAX) {
      throw new Http2Error(HTTP2.FRAME_SIZE_ERROR, `a frame of ${length} bytes`);
    }
    if (start + length > bytes.length) return false;
    this.type = bytes.readUInt8(start - 6);
    this.flags = bytes.readUInt8(start - 5);
    this.streamId = bytes.readUInt32BE(start - 4) & 0x7fff_ffff;
    this.start = start;
    this.end = start + length;
    this.#at = this.end;
    return true;
  }

  /** Whether there are bytes after the present frame. */
  get hasMore(): boolean {
    return this.#at < this.bytes.length;
  }

  /** The payload of the present frame. */
  payload(): Buffer {
    return this.bytes.subarray(this.start, this.end);
  }

  /** Copies the beginning of an incomplete frame out of the array that brought it. */
  compact(): void {
    const rest = this.bytes.length - this.#at;
    this.bytes = rest === 0 ? EMPTY : Buffer.from(this.bytes.subarray(this.#at));
    this.#at = 0;
  }

  #readPreface(): boolean {
    const known = Math.min(PREFACE.length, this.bytes.length);
    if (this.bytes.compare(PREFACE, 0, known, 0, known) !== 0) {
      throw new Http2Error(HTTP2.PROTOCOL_ERROR, "the client does not speak HTTP/2");
    }
    if (known < PREFACE.length) return false;
    this.#hasPreface = true;
    this.#at = PREFACE.length;
    return true;
  }
}
