import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import { AppError } from "../../lib/errors.ts";
import { frameMessage, MessageReader } from "../../lib/grpc/frames.ts";
import { GRPC } from "../../lib/grpc/status-codes.ts";
import { unpackAtOnce } from "../../lib/grpc/unpack.ts";
import { CallError } from "./call-error.ts";
import type { Connection } from "./connection.ts";

export interface CallStart {
  /** "/package.Service/Method" */
  readonly path: string;
  /** How long the whole call may take; undefined: as long as it does. */
  readonly timeoutMs?: number | undefined;
  /** Of one message of the answer. */
  readonly bytesMax: number;
}

export interface CallEvents {
  onMessage(bytes: Buffer): void;
  /** Called once, last. Undefined: the server ended the call with status OK. */
  onEnd(error: CallError | undefined): void;
}

/** A call under way. After its end every method does nothing. */
export interface OpenCall {
  send(message: Uint8Array): void;
  /** Nothing more will be sent. */
  finish(): void;
  cancel(): void;
  /** Stops or resumes taking bytes from the server, which then has to wait. */
  pause(): void;
  resume(): void;
}

/** Opens a gRPC call on a connection, which may still be in the making. No event comes before it returned. */
export function openCall(connection: Connection, start: CallStart, events: CallEvents): OpenCall {
  return new Http2Call(connection, start, events);
}

class Http2Call implements OpenCall {
  readonly #connection: Connection;
  readonly #events: CallEvents;
  readonly #stream: ClientHttp2Stream;
  readonly #reader: MessageReader;
  readonly #timer: NodeJS.Timeout | undefined;
  #encoding = "identity";
  #status: IncomingHttpHeaders | undefined; // the headers that carry it
  #failure: CallError | undefined; // found here
  #cause: Error | undefined; // of the stream
  #hasRead = false;
  #isOver = false;

  constructor(
    connection: Connection,
    { path, timeoutMs, bytesMax }: CallStart,
    events: CallEvents,
  ) {
    this.#connection = connection;
    this.#events = events;
    this.#reader = new MessageReader(bytesMax);
    this.#stream = connection.session.request({
      ":method": "POST",
      ":path": path,
      te: "trailers",
      "content-type": "application/grpc",
      "grpc-accept-encoding": "gzip,deflate,identity",
      ...(timeoutMs !== undefined && { "grpc-timeout": toTimeout(timeoutMs) }),
    });
    this.#listen();
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.#expire(), timeoutMs);
  }

  send(message: Uint8Array): void {
    if (!this.#isOver && this.#stream.writable) this.#stream.write(frameMessage(message));
  }

  finish(): void {
    if (this.#stream.writable) this.#stream.end();
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

  #listen(): void {
    const stream = this.#stream;
    stream.on("response", (headers) => this.#onResponse(headers));
    stream.on("trailers", (headers) => {
      this.#status = headers;
      if (this.#hasRead) this.#end();
    });
    stream.on("data", (chunk: Buffer) => this.#onData(chunk));
    stream.on("end", () => {
      this.#hasRead = true;
      if (this.#status !== undefined) this.#end();
    });
    stream.on("error", (cause: Error) => (this.#cause ??= cause));
    stream.on("close", () => this.#end());
  }

  #onResponse(headers: IncomingHttpHeaders): void {
    const httpStatus = Number(headers[":status"]);
    if (httpStatus !== 200) {
      const text = `the server answered with HTTP status ${httpStatus}`;
      this.#fail(new CallError(GRPC.UNAVAILABLE, text));
      return;
    }
    this.#encoding = headers["grpc-encoding"]?.toString() ?? "identity";
    if (headers["grpc-status"] !== undefined) this.#status = headers; // of an answer without messages
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

  /** Ends it from here. */
  #fail(error: CallError): void {
    if (this.#isOver) return;
    this.#failure = error;
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    const error = this.#failure ?? this.#statusError();
    // Events come later than the call that caused them.
    queueMicrotask(() => this.#events.onEnd(error));
  }

  #statusError(): CallError | undefined {
    const metadata = this.#status;
    if (metadata === undefined) return this.#lost();
    const code = Number(metadata["grpc-status"]);
    if (code === GRPC.OK) return undefined;
    const details = toText(metadata["grpc-message"]);
    return new CallError(Number.isInteger(code) ? code : GRPC.UNKNOWN, details, { metadata });
  }

  /** It ended without a status. */
  #lost(): CallError {
    const { session, failure } = this.#connection;
    const cause = failure ?? this.#cause;
    const { rstCode } = this.#stream;
    const code = session.destroyed ? GRPC.UNAVAILABLE : statusOfReset(rstCode);
    return new CallError(code, cause?.message ?? "the call ended without a status", { cause });
  }
}

/** As gRPC over HTTP/2 says. */
const statusOfReset = (rstCode: number | undefined): number => {
  switch (rstCode) {
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return GRPC.RESOURCE_EXHAUSTED;
    case constants.NGHTTP2_CANCEL:
      return GRPC.CANCELLED;
    case constants.NGHTTP2_NO_ERROR:
    case constants.NGHTTP2_REFUSED_STREAM:
    case undefined:
      return GRPC.UNAVAILABLE;
    default:
      return GRPC.INTERNAL;
  }
};

const toCallError = (error: unknown): CallError => {
  const known = AppError.from(error, "read the answer");
  const code = known.code === "exhausted" ? GRPC.RESOURCE_EXHAUSTED : GRPC.INTERNAL;
  return new CallError(code, known.message, { cause: error });
};

/** At most eight digits are allowed. */
const toTimeout = (timeoutMs: number): string =>
  timeoutMs < 1e8 ? `${Math.max(0, Math.ceil(timeoutMs))}m` : `${Math.ceil(timeoutMs / 1_000)}S`;

/** Percent-encoded, as gRPC has it; a text that is not comes as it is. */
function toText(header: string | string[] | undefined): string {
  const text = header?.toString() ?? "";
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
