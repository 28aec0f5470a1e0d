import { FRAME_PAYLOAD_BYTES_MAX, WINDOW_BYTES_MAX } from "../../../../lib/http2/frames.ts";
import { limits } from "../../../../limits.ts";
import type { HeaderList } from "../header-list.ts";
import type { FrameBatch } from "./frame-batch.ts";

interface Chunk {
  readonly bytes: Buffer;
  readonly taken: (() => void) | undefined;
}

/** Why a queue stopped: all is sent; it used its turn; the stream's window is used up; the connection's window is. */
export type Pause = "empty" | "turn" | "window" | "connection";

export interface Sent {
  readonly pause: Pause;
  /** Bytes of DATA frames, which windows count. */
  readonly bytes: number;
}

const ALL: Sent = { pause: "empty", bytes: 0 };

/** The answer on one stream that waits to be sent: headers, bytes, trailers. */
export class AnswerQueue {
  readonly #streamId: number;
  head: HeaderList | undefined;
  #chunks: Chunk[] = [];
  /** Sent bytes of the first chunk. */
  #offset = 0;
  #unsentBytes = 0;
  #windowBytes: number;
  #last: HeaderList | undefined;
  #hasRefused = false;
  #takens: (() => void)[] = [];
  hasEnded = false;

  constructor(streamId: number, windowBytes: number) {
    this.#streamId = streamId;
    this.#windowBytes = windowBytes;
  }

  get isEnding(): boolean {
    return this.#last !== undefined || this.hasEnded;
  }

  /** Whether it has headers or trailers to send. */
  get hasBlock(): boolean {
    return this.head !== undefined || (this.#last !== undefined && this.#chunks.length === 0);
  }

  push(bytes: Buffer, taken: (() => void) | undefined): void {
    this.#chunks.push({ bytes, taken });
    this.#unsentBytes += bytes.length;
  }

  /** Whether its source should write more now. */
  hasRoom(): boolean {
    const hasRoom = this.#unsentBytes < limits.http2UnsentBytes;
    if (!hasRoom) this.#hasRefused = true;
    return hasRoom;
  }

  /** Once, after `hasRoom` was false: whether the source may continue. */
  takeDrained(): boolean {
    if (!this.#hasRefused || this.#unsentBytes > 0) return false;
    this.#hasRefused = false;
    return true;
  }

  end(last: HeaderList): void {
    if (!this.isEnding) this.#last = last;
  }

  changeWindow(bytes: number): boolean {
    this.#windowBytes += bytes;
    return this.#windowBytes <= WINDOW_BYTES_MAX;
  }

  /** Sends at most one frame of bytes, so that other streams have their turn. */
  send(batch: FrameBatch, allowedBytes: number, isFirstBlock: boolean): Sent {
    let isFirst = isFirstBlock;
    if (this.head !== undefined) {
      batch.headers(this.#streamId, this.head.block, false, isFirst);
      this.head = undefined;
      isFirst = false;
    }
    const bytes = this.#sendBytes(batch, allowedBytes);
    if (this.#chunks.length > 0) return { pause: this.#pauseAfter(allowedBytes - bytes), bytes };
    if (this.#last !== undefined) {
      batch.headers(this.#streamId, this.#last.block, true, isFirst);
      this.#last = undefined;
      this.hasEnded = true;
    }
    return bytes === 0 ? ALL : { pause: "empty", bytes };
  }

  /** Callbacks of chunks that were sent since the last call. */
  takeTakens(): readonly (() => void)[] {
    const takens = this.#takens;
    if (takens.length > 0) this.#takens = [];
    return takens;
  }

  /** Nothing more will be sent. */
  drop(): void {
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#unsentBytes = 0;
    this.head = undefined;
    this.#last = undefined;
    for (const { taken } of chunks) taken?.();
  }

  #sendBytes(batch: FrameBatch, allowedBytes: number): number {
    let sent = 0;
    for (let first = this.#chunks[0]; first !== undefined; first = this.#chunks[0]) {
      const rest = first.bytes.length - this.#offset;
      const allowed = Math.min(allowedBytes - sent, this.#windowBytes);
      const size = Math.min(rest, FRAME_PAYLOAD_BYTES_MAX - sent, allowed);
      if (rest > 0 && size <= 0) break;
      if (size > 0) batch.data(this.#streamId, first.bytes, this.#offset, this.#offset + size);
      sent += size;
      this.#windowBytes -= size;
      this.#unsentBytes -= size;
      this.#offset += size;
      if (size < rest) break;
      this.#offset = 0;
      this.#chunks.shift();
      if (first.taken !== undefined) this.#takens.push(first.taken);
    }
    return sent;
  }

  #pauseAfter(allowedBytes: number): Pause {
    if (this.#windowBytes <= 0) return "window";
    return allowedBytes <= 0 ? "connection" : "turn";
  }
}
