import type { IncomingHttpHeaders } from "node:http2";
import { frameMessage, MessageReader } from "../../lib/grpc/frames.ts";
import { GRPC } from "../../lib/grpc/status-codes.ts";
import { unpackAtOnce } from "../../lib/grpc/unpack.ts";
import { limits } from "../../limits.ts";
import { CallError } from "./call-error.ts";
import { lossError, REFUSED_STREAM, statusError, toCallError } from "./call-status.ts";
import type { HttpConnection, HttpStream, HttpStreamEvents, StreamLoss } from "./http-stream.ts";

export interface CallStart {
  /** "/package.Service/Method" */
  readonly path: string;
  /** The time limit of the whole call; undefined: none. */
  readonly timeoutMs?: number | undefined;
  /** The limit of one message of the answer. */
  readonly bytesMax: number;
}

export interface CallEvents {
  onMessage(bytes: Buffer): void;
  /** Called once, last. Undefined: the server ended the call with status OK. */
  onEnd(error: CallError | undefined): void;
}

/** An open call. After its end every method does nothing. */
export interface OpenCall {
  send(message: Uint8Array): void;
  /** No more messages will be sent. */
  finish(): void;
  cancel(): void;
  /** Stops or resumes reading bytes, so that the server has to wait. */
  pause(): void;
  resume(): void;
}

/** Opens gRPC calls: a connection, or several. */
export interface CallChannel {
  call(start: CallStart, events: CallEvents): OpenCall;
  /** Ends every call that is under way. */
  close(): void;
}

/**
 * Opens a gRPC call on a connection, which may still be opening. Sends no event before it returns. With `reconnect`, a call
 * that the server refused unread is sent once more: a server that closes an idle connection refuses what meets it on the way.
 */
export function openCall(
  connection: HttpConnection,
  start: CallStart,
  events: CallEvents,
  reconnect?: () => HttpConnection | undefined,
): OpenCall {
  return new HttpCall(connection, start, events, reconnect);
}

/** What a second stream would have to send; there is none once the call may not be repeated. */
interface Repeat {
  readonly open: () => HttpStream | undefined;
  readonly frames: Buffer[];
  bytes: number;
  isFinished: boolean;
}

class HttpCall implements OpenCall {
  readonly #events: CallEvents;
  #stream: HttpStream;
  #repeat: Repeat | undefined;
  readonly #reader: MessageReader;
  readonly #timer: NodeJS.Timeout | undefined;
  #encoding = "identity";
  #status: IncomingHttpHeaders | undefined; // the headers that carry the status
  #failure: CallError | undefined; // detected by this client
  #hasRead = false;
  #isOver = false;

  constructor(
    connection: HttpConnection,
    { path, timeoutMs, bytesMax }: CallStart,
    events: CallEvents,
    reconnect: (() => HttpConnection | undefined) | undefined,
  ) {
    this.#events = events;
    this.#reader = new MessageReader(bytesMax);
    const headers = {
      ":method": "POST",
      ":path": path,
      te: "trailers",
      "content-type": "application/grpc",
      "grpc-accept-encoding": "gzip,deflate,identity",
      ...(timeoutMs !== undefined && { "grpc-timeout": toTimeout(timeoutMs) }),
    };
    const streamEvents: HttpStreamEvents = {
      onHeaders: (answered) => this.#onHeaders(answered),
      onData: (chunk) => this.#onData(chunk),
      onTrailers: (trailers) => {
        this.#status = trailers;
        if (this.#hasRead) this.#end();
      },
      onDataEnd: () => {
        this.#hasRead = true;
        if (this.#status !== undefined) this.#end();
      },
      onClose: (loss) => this.#onClose(loss),
    };
    this.#stream = connection.request(headers, streamEvents);
    if (reconnect !== undefined) {
      const open = (): HttpStream | undefined => reconnect()?.request(headers, streamEvents);
      this.#repeat = { open, frames: [], bytes: 0, isFinished: false };
    }
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.#expire(), timeoutMs);
  }

  send(message: Uint8Array): void {
    if (this.#isOver) return;
    const frame = frameMessage(message);
    this.#retain(frame);
    this.#stream.write(frame);
  }

  finish(): void {
    if (this.#repeat !== undefined) this.#repeat.isFinished = true;
    this.#stream.end();
  }

  cancel(): void {
    this.#fail(new CallError(GRPC.CANCELLED, "the call was cancelled"));
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  #retain(frame: Buffer): void {
    if (this.#repeat === undefined) return;
    this.#repeat.frames.push(frame);
    this.#repeat.bytes += frame.length;
    if (this.#repeat.bytes > limits.documentBytesMax) this.#repeat = undefined;
  }

  #onClose(loss: StreamLoss): void {
    const repeat = this.#repeat;
    this.#repeat = undefined;
    const isUnread = loss.resetCode === REFUSED_STREAM && !this.#isOver;
    const stream = isUnread ? repeat?.open() : undefined;
    if (repeat === undefined || stream === undefined) return this.#end(loss);
    this.#stream = stream;
    for (const frame of repeat.frames) stream.write(frame);
    if (repeat.isFinished) stream.end();
  }

  #onHeaders(headers: IncomingHttpHeaders): void {
    this.#repeat = undefined;
    const httpStatus = Number(headers[":status"]);
    if (httpStatus !== 200) {
      const text = `the server answered with HTTP status ${httpStatus}`;
      this.#fail(new CallError(GRPC.UNAVAILABLE, text));
      return;
    }
    this.#encoding = headers["grpc-encoding"]?.toString() ?? "identity";
    if (headers["grpc-status"] !== undefined) this.#status = headers; // the headers of an answer without messages
  }

  #onData(chunk: Buffer): void {
    if (this.#isOver) return;
    try {
      this.#reader.push(chunk);
      for (let bytes = this.#reader.next(); bytes !== undefined; bytes = this.#reader.next()) {
        this.#events.onMessage(this.#reader.isPacked ? this.#unpack(bytes) : bytes);
        if (this.#isOver) return;
      }
    } catch (error) {
      this.#fail(toCallError(error));
    }
  }

  #unpack(bytes: Buffer): Buffer {
    return unpackAtOnce({ bytes, encoding: this.#encoding, bytesMax: this.#reader.bytesMax });
  }

  #expire(): void {
    this.#fail(new CallError(GRPC.DEADLINE_EXCEEDED, "no answer in time"));
  }

  /** Ends the call from this side. */
  #fail(error: CallError): void {
    if (this.#isOver) return;
    this.#failure = error;
    this.#stream.cancel();
    this.#end();
  }

  #end(loss?: StreamLoss): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    const error = this.#failure ?? this.#statusError(loss);
    // Events follow after the call that caused them has returned.
    queueMicrotask(() => this.#events.onEnd(error));
  }

  #statusError(loss: StreamLoss | undefined): CallError | undefined {
    if (this.#status !== undefined) return statusError(this.#status);
    return lossError(loss ?? { isConnectionGone: false, resetCode: undefined, cause: undefined });
  }
}

/** gRPC allows at most eight digits. */
const toTimeout = (timeoutMs: number): string =>
  timeoutMs < 1e8 ? `${Math.max(0, Math.ceil(timeoutMs))}m` : `${Math.ceil(timeoutMs / 1_000)}S`;
