import { HTTP2 } from "../../../../../lib/http2/error-codes.ts";
import { FLAG, PRIORITY_BYTES } from "../../../../../lib/http2/frames.ts";
import { limits } from "../../../../../limits.ts";
import type { FrameCursor } from "../frame-cursor.ts";
import { Http2Error } from "../http2-error.ts";

/** The headers of one request, from a HEADERS frame and the CONTINUATION frames after it. */
export interface HeaderFrames {
  readonly streamId: number;
  readonly isLast: boolean;
  /** The stream depends on itself, which RFC 7540 forbids. */
  readonly isSelfDependent: boolean;
  readonly block: Buffer;
}

/** Throws Http2Error. */
export function beginHeaders(cursor: FrameCursor): HeaderFrames {
  const { flags, streamId } = cursor;
  const content = contentOf(cursor);
  const hasPriority = (flags & FLAG.PRIORITY) !== 0;
  if (hasPriority && content.length < PRIORITY_BYTES) throw padding();
  const dependsOn = hasPriority ? content.readUInt32BE(0) & 0x7fff_ffff : -1;
  return {
    streamId,
    isLast: (flags & FLAG.END_STREAM) !== 0,
    isSelfDependent: dependsOn === streamId,
    block: hasPriority ? content.subarray(PRIORITY_BYTES) : content,
  };
}

/** The payload of a DATA or HEADERS frame without its padding. Throws Http2Error. */
export function contentOf({ bytes, flags, start, end }: FrameCursor): Buffer {
  if ((flags & FLAG.PADDED) === 0) return bytes.subarray(start, end);
  const last = end - (bytes[start] ?? 0);
  if (start >= end || start + 1 > last) throw padding();
  return bytes.subarray(start + 1, last);
}

const padding = (): Http2Error =>
  new Http2Error(HTTP2.PROTOCOL_ERROR, "padding is longer than its frame");

/** Headers whose CONTINUATION frames are still to come. */
export class OpenBlock {
  readonly head: HeaderFrames;
  readonly #late: NodeJS.Timeout;
  #parts: Buffer[] = [];
  #bytes = 0;
  #frames = 0;

  constructor(head: HeaderFrames, late: () => void) {
    this.head = head;
    this.#add(head.block);
    this.#late = setTimeout(late, limits.headersReceiveMsMax).unref();
  }

  /** Throws Http2Error. */
  continue(payload: Buffer): void {
    if (++this.#frames > limits.http2ContinuationsMax) {
      throw new Http2Error(HTTP2.ENHANCE_YOUR_CALM, "headers in too many frames");
    }
    this.#add(payload);
  }

  /** Ends its timer, too. */
  whole(): HeaderFrames {
    this.stop();
    return { ...this.head, block: Buffer.concat(this.#parts) };
  }

  stop(): void {
    clearTimeout(this.#late);
  }

  /** Copied: the array that brought them may be much larger. */
  #add(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes > limits.http2HeaderBytesMax) {
      throw new Http2Error(HTTP2.COMPRESSION_ERROR, "headers are too large");
    }
    this.#parts.push(Buffer.from(bytes));
  }
}
