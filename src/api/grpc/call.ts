import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { AppError, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { frameMessage, MessageReader } from "./frames.ts";
import { GRPC, type GrpcStatus, toGrpcStatus } from "./status.ts";

/** Who calls, and what came beside the request. */
export interface CallContext {
  readonly headers: IncomingHttpHeaders;
  /** Address and port of the caller. */
  readonly peer: string;
}

export interface CallListener {
  /** While the call is paused, nothing more is told. */
  message(bytes: Buffer): void;
  /** The caller will send no more. */
  finished(): void;
  /** Called once, when the call is over for whatever reason: nothing can be sent any more. */
  closed(): void;
}

const HEADERS: OutgoingHttpHeaders = {
  ":status": 200,
  "content-type": "application/grpc+proto",
  "grpc-accept-encoding": "identity,deflate,gzip",
};
const WITH_TRAILERS = { waitForTrailers: true } as const;
const OK_TRAILERS: OutgoingHttpHeaders = { "grpc-status": GRPC.OK, "grpc-message": "OK" };
const DEADLINE_EXCEEDED: GrpcStatus = {
  code: GRPC.DEADLINE_EXCEEDED,
  details: "Deadline exceeded",
  metadata: {},
};
const ignore = (): void => undefined;

/**
 * One call on its HTTP/2 stream: messages in, messages out, one status at the end. Node's own
 * HTTP/2 does the rest; grpc-js, which does the same on top of it, took a fifth of the CPU of a
 * short call.
 */
export class GrpcCall implements CallContext {
  readonly headers: IncomingHttpHeaders;
  readonly #stream: ServerHttp2Stream;
  readonly #reader: MessageReader;
  #listener: CallListener | undefined;
  #isPaused = false;
  #input: "open" | "ended" | "told" = "open";
  /** The status was given; what was written before may still be on its way. */
  #isEnding = false;
  #isOver = false;
  #unsent = 0;
  #deadline: NodeJS.Timeout | undefined;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    this.headers = headers;
    this.#stream = stream;
    this.#reader = new MessageReader(String(headers["grpc-encoding"] ?? "identity"));
  }

  get peer(): string {
    const { remoteAddress, remotePort } = this.#stream.session?.socket ?? {};
    return `${remoteAddress}:${remotePort}`;
  }

  /** How many messages wait for the peer to read. */
  get queued(): number {
    return this.#unsent;
  }

  /** Begins to read. Messages of more than `bytesMax` bytes are refused. */
  start(listener: CallListener, bytesMax: number = limits.messageBytesMax): void {
    this.#listener = listener;
    this.#reader.bytesMax = bytesMax;
    this.#setDeadline();
    const stream = this.#stream;
    stream.on("data", (chunk: Buffer) => this.#receive(chunk));
    stream.on("end", () => {
      this.#input = "ended";
      this.#deliver();
    });
    stream.on("close", () => this.#over());
    stream.on("error", ignore); // "close" follows
  }

  pause(): void {
    this.#isPaused = true;
    this.#stream.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#deliver();
    if (!this.#isPaused) this.#stream.resume();
  }

  /** Returns whether more should be sent now; if not, `drained` tells when. */
  send(message: Uint8Array): boolean {
    if (!this.#canSend) return true;
    const stream = this.#stream;
    if (!stream.headersSent) stream.respond(HEADERS, WITH_TRAILERS);
    this.#unsent++;
    return stream.write(frameMessage(message), () => this.#unsent--);
  }

  drained(then: () => void): void {
    this.#stream.once("drain", then);
  }

  /** The only answer, and the end of the call. */
  answer(message: Uint8Array): void {
    if (!this.#canSend) return;
    this.#stream.respond(HEADERS, WITH_TRAILERS);
    this.#end(OK_TRAILERS, frameMessage(message));
  }

  /** Ends the call after what was sent. */
  end(): void {
    if (!this.#canSend) return;
    if (!this.#stream.headersSent) this.#stream.respond(HEADERS, WITH_TRAILERS);
    this.#end(OK_TRAILERS);
  }

  /** Ends the call with an error after what was sent. */
  fail(error: unknown): void {
    this.refuse(toGrpcStatus(error));
  }

  refuse(status: GrpcStatus): void {
    if (!this.#canSend) return;
    const stream = this.#stream;
    const trailers = toTrailers(status);
    if (stream.headersSent) return this.#end(trailers);
    this.#isEnding = true;
    stream.respond({ ...HEADERS, ...trailers }, { endStream: true });
    stream.resume(); // what still comes is of no interest
  }

  get #canSend(): boolean {
    return !this.#isEnding && !this.#stream.destroyed && !this.#stream.closed;
  }

  #end(trailers: OutgoingHttpHeaders, last?: Buffer): void {
    this.#isEnding = true;
    const stream = this.#stream;
    stream.once("wantTrailers", () => stream.sendTrailers(trailers));
    if (last === undefined) stream.end();
    else stream.end(last);
    if (this.#input === "open") stream.resume(); // what still comes is of no interest
  }

  #receive(chunk: Buffer): void {
    if (this.#isEnding) return;
    this.#reader.push(chunk);
    this.#deliver();
  }

  #deliver(): void {
    while (!this.#isPaused && !this.#isEnding) {
      const message = this.#nextMessage();
      if (message === undefined) break;
      this.#listener?.message(message);
    }
    if (this.#input !== "ended" || this.#isPaused || this.#isEnding) return;
    this.#input = "told";
    this.#listener?.finished();
  }

  #nextMessage(): Buffer | undefined {
    try {
      const message = this.#reader.next();
      if (message === undefined && this.#input === "ended" && this.#reader.isInside) {
        throw new AppError("invalid_argument", "the request ends inside a message");
      }
      return message;
    } catch (error) {
      this.fail(error);
      this.#over();
      return undefined;
    }
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    this.#listener?.closed();
  }

  #setDeadline(): void {
    const { "grpc-timeout": timeout } = this.headers;
    if (timeout === undefined) return;
    const ms = toMs(String(timeout));
    if (ms === undefined) return this.fail(invalid("grpc-timeout", "must be a time like 100m"));
    this.#deadline = setTimeout(() => {
      this.refuse(DEADLINE_EXCEEDED);
      this.#over();
    }, ms);
  }
}

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

function toMs(timeout: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(timeout) ?? [];
  return amount === undefined
    ? undefined
    : Math.min(Number(amount) * (UNIT_MS[unit] ?? 0), limits.timerMsMax);
}

const toTrailers = ({ code, details, metadata }: GrpcStatus): OutgoingHttpHeaders => ({
  "grpc-status": code,
  "grpc-message": encodeURI(details),
  ...metadata,
});
