import { HTTP2 } from "../../../../lib/http2/error-codes.ts";
import { limits } from "../../../../limits.ts";
import { Http2Error } from "./http2-error.ts";

/**
 * The bytes that a client may send on all streams of its connection. A paused stream has a window of its own and must not stop the others, so bytes
 * that streams buffer are granted again at once, up to a limit.
 */
export class ReceiveWindow {
  readonly #grant: (bytes: number) => void;
  #windowBytes: number = limits.http2WindowBytes;
  #readBytes = 0;
  #bufferedBytes = 0;

  constructor(grant: (bytes: number) => void) {
    this.#grant = grant;
  }

  /** Throws Http2Error when the client sends more than it may. */
  receive(bytes: number): void {
    this.#windowBytes -= bytes;
    if (this.#windowBytes < 0) {
      throw new Http2Error(HTTP2.FLOW_CONTROL_ERROR, "more bytes than the window allows");
    }
    this.#readBytes += bytes;
    this.#grantMore();
  }

  /** Streams buffer so many bytes more. */
  buffered(bytes: number): void {
    this.#bufferedBytes += bytes;
    if (bytes < 0) this.#grantMore();
  }

  #grantMore(): void {
    if (this.#readBytes < limits.http2WindowBytes / 2) return;
    if (this.#bufferedBytes > limits.http2UnreadBytesMax) return;
    this.#windowBytes += this.#readBytes;
    this.#grant(this.#readBytes);
    this.#readBytes = 0;
  }
}
