import { ByteBlocks } from "../../../../lib/bytes/byte-blocks.ts";
import { HTTP2 } from "../../../../lib/http2/error-codes.ts";
import { limits } from "../../../../limits.ts";
import type { HeaderList } from "../header-list.ts";
import type { ServerConnection, RequestStream, RequestStreamEvents } from "../transport.ts";
import { AnswerQueue } from "./answer-queue.ts";

/** The connection, as its streams use it. */
export interface StreamHost extends ServerConnection {
  /** The stream has something to send. */
  wake(stream: OwnStream): void;
  /** The peer may send so many bytes more. */
  grant(stream: OwnStream, bytes: number): void;
  /** Bytes that streams buffer because they are paused: so many more. */
  buffered(bytes: number): void;
  reset(stream: OwnStream, code: number): void;
  confirm(stream: OwnStream, received: (isReceived: boolean) => void): void;
}

/**
 * A stream of our own HTTP/2, by the states of RFC 9113, section 5.1: `#input` is the peer's half, `queue.hasEnded` this one. Closed: both halves
 * have ended and the socket has the bytes, or either side has reset it, or the connection is gone.
 */
export class OwnStream implements RequestStream {
  readonly id: number;
  readonly connection: StreamHost;
  hasResponded = false;
  resetCode: number = HTTP2.NO_ERROR;
  /** For the connection. */
  readonly queue: AnswerQueue;
  #events: RequestStreamEvents | undefined;
  #isClosed = false;
  #isPaused = false;
  #isDelivering = false;
  /** `told`: the receiver knows that it has ended. */
  #input: "open" | "ended" | "told" = "open";
  #inbox: ByteBlocks | undefined;
  #windowBytes: number = limits.http2WindowBytes;
  #readBytes = 0;
  /** Announced bytes that have not arrived; negative: not announced. */
  #contentBytes: number;
  #isResetAfterEnd = false;

  constructor(host: StreamHost, id: number, contentBytes: number, sendWindowBytes: number) {
    this.connection = host;
    this.id = id;
    this.#contentBytes = contentBytes;
    this.queue = new AnswerQueue(id, sendWindowBytes);
  }

  get isOpen(): boolean {
    return !this.#isClosed;
  }

  get isInputOpen(): boolean {
    return this.#input === "open";
  }

  /** Whether both halves have ended. */
  get isDone(): boolean {
    return this.#input !== "open" && this.queue.hasEnded;
  }

  listen(events: RequestStreamEvents): void {
    this.#events = events;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#isDelivering || (this.#inbox === undefined && this.#input !== "ended")) return;
    this.#isDelivering = true;
    process.nextTick(() => this.#deliver());
  }

  respond(head: HeaderList): void {
    if (this.#isClosed || this.hasResponded) return;
    this.hasResponded = true;
    this.queue.head = head;
    this.connection.wake(this);
  }

  respondOnly(head: HeaderList): void {
    if (this.#isClosed || this.hasResponded) return;
    this.hasResponded = true;
    this.#isPaused = false;
    this.#dropInbox();
    this.queue.end(head);
    this.connection.wake(this);
  }

  write(bytes: Buffer, taken?: () => void): boolean {
    if (this.#isClosed) {
      taken?.();
      return true;
    }
    this.queue.push(bytes, taken);
    this.connection.wake(this);
    return this.queue.hasRoom();
  }

  writeAll(parts: readonly Buffer[], taken: () => void): void {
    for (const [at, part] of parts.entries()) {
      this.write(part, at === parts.length - 1 ? taken : undefined);
    }
  }

  end(trailers: HeaderList, last?: Buffer): void {
    if (this.#isClosed) return;
    if (last !== undefined) this.queue.push(last, undefined);
    this.queue.end(trailers);
    this.connection.wake(this);
  }

  /** Without an error, all written bytes go first. */
  close(code: number): void {
    if (this.#isClosed) return;
    if (code === HTTP2.NO_ERROR && this.queue.isEnding && !this.queue.hasEnded) {
      this.#isResetAfterEnd = true;
      return;
    }
    this.connection.reset(this, code);
  }

  confirm(received: (isReceived: boolean) => void): void {
    this.connection.confirm(this, received);
  }

  /** Whether its last frame was sent, and a reset must follow. */
  get isToBeReset(): boolean {
    return this.#isResetAfterEnd && this.queue.hasEnded;
  }

  drained(): void {
    if (!this.#isClosed) this.#events?.onDrain();
  }

  /** A DATA frame; `frameBytes` includes its padding. Returns the reason to reset the stream, or NO_ERROR. */
  receive(bytes: Buffer, frameBytes: number): number {
    this.#windowBytes -= frameBytes;
    if (this.#windowBytes < 0) return HTTP2.FLOW_CONTROL_ERROR;
    if (this.#contentBytes >= 0 && (this.#contentBytes -= bytes.length) < 0) {
      return HTTP2.PROTOCOL_ERROR;
    }
    this.#read(frameBytes - bytes.length);
    if (bytes.length === 0) return HTTP2.NO_ERROR;
    if (this.#isPaused || this.#inbox !== undefined) {
      this.#inbox ??= new ByteBlocks();
      this.#inbox.append(bytes);
      this.connection.buffered(bytes.length);
    } else {
      this.#events?.onData(bytes);
      this.#read(bytes.length);
    }
    return HTTP2.NO_ERROR;
  }

  /** The end of the peer's half. Returns the same. */
  receiveEnd(): number {
    this.#input = "ended";
    if (this.#contentBytes > 0) return HTTP2.PROTOCOL_ERROR;
    if (!this.#isPaused && this.#inbox === undefined) this.#tellEnd();
    return HTTP2.NO_ERROR;
  }

  /** It is over: after the last byte (NO_ERROR), or before. */
  finish(code: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.resetCode = code;
    this.#dropInbox();
    this.queue.drop();
    this.#events?.onClose();
  }

  #deliver(): void {
    this.#isDelivering = false;
    if (this.#isPaused || this.#isClosed) return;
    const bytes = this.#inbox?.take();
    this.#inbox = undefined;
    if (bytes !== undefined) {
      this.connection.buffered(-bytes.length);
      this.#events?.onData(bytes);
      this.#read(bytes.length);
    }
    if (this.#input === "ended" && !this.#isPaused && !this.#isClosed) this.#tellEnd();
  }

  #tellEnd(): void {
    this.#input = "told";
    this.#events?.onEnd();
  }

  /** The peer may send as many bytes again. Small grants are put together. */
  #read(bytes: number): void {
    this.#readBytes += bytes;
    if (this.#isClosed) return;
    if (this.#readBytes < limits.http2WindowBytes / 2 || this.#input !== "open") return;
    this.#windowBytes += this.#readBytes;
    this.connection.grant(this, this.#readBytes);
    this.#readBytes = 0;
  }

  #dropInbox(): void {
    const bytes = this.#inbox?.length ?? 0;
    this.#inbox = undefined;
    if (bytes === 0) return;
    this.connection.buffered(-bytes);
    if (!this.#isClosed) this.#read(bytes);
  }
}
