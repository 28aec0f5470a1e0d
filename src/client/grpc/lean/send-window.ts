import { encodeFrame, FLAG, FRAME, FRAME_PAYLOAD_BYTES_MAX } from "../../../lib/http2/frames.ts";

/** What a peer takes before it says more: RFC 9113, section 6.9.2. */
export const FIRST_WINDOW_BYTES = 65_535;

/** The bytes of one stream that wait to be sent. The server says how many it takes. */
export class SendQueue {
  readonly #streamId: number;
  readonly #queued: Buffer[] = [];
  #isEnding = false;
  hasEnded = false;
  windowBytes: number;

  constructor(streamId: number, windowBytes: number) {
    this.#streamId = streamId;
    this.windowBytes = windowBytes;
  }

  push(bytes: Buffer): void {
    if (!this.#isEnding && bytes.length > 0) this.#queued.push(bytes);
  }

  end(): void {
    this.#isEnding = true;
  }

  /** The frames that may go now; `allowed` is what the connection takes. */
  take(allowed: number): { readonly frames: Buffer[]; readonly taken: number } {
    const frames: Buffer[] = [];
    let taken = 0;
    for (let first = this.#queued[0]; first !== undefined; first = this.#queued[0]) {
      const size = Math.min(FRAME_PAYLOAD_BYTES_MAX, allowed - taken, this.windowBytes);
      if (size <= 0) return { frames, taken };
      const payload = first.subarray(0, size);
      if (payload.length === first.length) this.#queued.shift();
      else this.#queued[0] = first.subarray(payload.length);
      this.windowBytes -= payload.length;
      taken += payload.length;
      frames.push(this.#frame(payload));
    }
    if (this.#isEnding && !this.hasEnded && frames.length === 0) {
      frames.push(this.#frame(Buffer.alloc(0)));
    }
    return { frames, taken };
  }

  /** The last one says that it is. */
  #frame(payload: Buffer): Buffer {
    this.hasEnded = this.#isEnding && this.#queued.length === 0;
    const flags = this.hasEnded ? FLAG.END_STREAM : 0;
    return encodeFrame({ type: FRAME.DATA, flags, streamId: this.#streamId, payload });
  }
}
