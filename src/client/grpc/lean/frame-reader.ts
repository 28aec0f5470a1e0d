import {
  firstFrame,
  FRAME,
  FRAME_PAYLOAD_BYTES_MAX,
  type Frame,
} from "../../../lib/http2/frames.ts";

const EMPTY = Buffer.alloc(0);
const LENGTH_BYTES = 3;
const TYPE_AT = 3;

/** The peer does not keep to HTTP/2. */
export class Http2Breach extends Error {}

/** It speaks something else from the start. Has the code of Node's own client. */
export class NotHttp2 extends Http2Breach {
  readonly code = "ERR_HTTP2_ERROR";
}

/** Puts the frames of a server together from bytes, however these were cut. Throws Http2Breach. */
export class FrameReader {
  #bytes: Buffer = EMPTY;
  #isFirst = true;

  push(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    if (this.#isFirst) this.#checkFirst();
  }

  /** Undefined: more has to come first. */
  next(): Frame | undefined {
    const length = this.#bytes.length < LENGTH_BYTES ? 0 : this.#bytes.readUIntBE(0, LENGTH_BYTES);
    if (length > FRAME_PAYLOAD_BYTES_MAX) throw new Http2Breach(`a frame of ${length} bytes`);
    const frame = firstFrame(this.#bytes);
    if (frame === undefined) return undefined;
    this.#isFirst = false;
    const end = frame.payload.byteOffset + frame.payload.length - this.#bytes.byteOffset;
    this.#bytes = end === this.#bytes.length ? EMPTY : this.#bytes.subarray(end);
    return frame;
  }

  /** A server of HTTP/2 begins with its settings; the first bytes of another protocol differ. */
  #checkFirst(): void {
    const isOther =
      this.#bytes.length > TYPE_AT
        ? this.#bytes[TYPE_AT] !== FRAME.SETTINGS
        : this.#bytes[0] !== undefined && this.#bytes[0] !== 0;
    if (isOther) throw new NotHttp2("the server does not begin with settings");
  }
}
