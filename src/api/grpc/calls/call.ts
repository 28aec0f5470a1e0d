import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { ANONYMOUS, type Principal } from "../../../core/access/principal.ts";
import { AppError, invalid } from "../../../lib/errors.ts";
import { boundSendBuffer } from "../../../lib/bytes/send-buffer.ts";
import { limits } from "../../../limits.ts";
import type { AnswerHold } from "../memory/answer-bytes.ts";
import { frameMessage, MessageReader } from "../../../lib/grpc/frames.ts";
import type { ConnectionMemory } from "../memory/call-memory.ts";
import type { RequestHold } from "../memory/request-hold.ts";
import { GRPC } from "../../../lib/grpc/status-codes.ts";
import { socketOf } from "../connection-socket.ts";
import { type GrpcStatus, toGrpcStatus } from "../status.ts";
import { parseTimeoutMs } from "./timeout.ts";
import { unpackAtOnce } from "../../../lib/grpc/unpack.ts";
import type { CallListener, UnaryContext } from "./call-context.ts";
import type { Unpacking } from "./unpacking.ts";

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
 * One call on its HTTP/2 stream: messages in, messages out, one status at the end. Node's own HTTP/2 does the rest; grpc-js, which does the
 * same on top of it, used a fifth of the CPU of a short call.
 */
export class GrpcCall implements UnaryContext {
  readonly headers: IncomingHttpHeaders;
  /** Set by the interceptor, before any handler answers the call. */
  principal: Principal = ANONYMOUS;
  readonly #stream: ServerHttp2Stream;
  readonly #reader = new MessageReader(limits.messageBytesMax);
  readonly #unpacking: Unpacking;
  readonly #request: RequestHold;
  readonly #answer: AnswerHold;
  /** There is no memory for more of the request. */
  #isWaiting = false;
  /** A message is being unpacked; later messages wait. */
  #isUnpacking = false;
  /** Bytes of the message that the listener is handling. */
  #inUse = 0;
  #listener: CallListener | undefined;
  #isPaused = false;
  #input: "open" | "ended" | "told" = "open";
  /** The status is set; earlier messages may still be on their way. */
  #isEnding = false;
  #isAnswered = false;
  #isOver = false;
  #unsent = 0;
  #head = HEADERS;
  #deadline: NodeJS.Timeout | undefined;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, memory: ConnectionMemory) {
    this.headers = headers;
    this.#stream = stream;
    const { requests, requestsHere, answers, answersHere } = memory;
    this.#request = requests.open(requestsHere, {
      resume: () => this.#readOn(),
      drop: (error) => this.#drop(error),
    });
    this.#answer = answers.open(answersHere, () => this.cut());
    this.#unpacking = memory.unpacking;
  }

  get peer(): string {
    const { remoteAddress, remotePort } = socketOf(this.#stream.session) ?? {};
    return `${remoteAddress}:${remotePort}`;
  }

  get connection(): object {
    return this.#stream.session ?? this.#stream;
  }

  get isAwaited(): boolean {
    return this.#canSend;
  }

  delivered(): Promise<boolean> {
    const stream = this.#stream;
    const isDelivered = (): boolean =>
      this.#isAnswered && stream.rstCode === constants.NGHTTP2_NO_ERROR;
    if (stream.closed) return Promise.resolve(isDelivered());
    return new Promise((resolve) => stream.once("close", () => resolve(isDelivered())));
  }

  /** Bytes received on its connection so far. */
  get bytesReceived(): number {
    return socketOf(this.#stream.session)?.bytesRead ?? 0;
  }

  /** The number of messages that the peer has not read. */
  get queued(): number {
    return this.#unsent;
  }

  /** Begins to read. Rejects messages of more than `bytesMax` bytes. */
  start(listener: CallListener, bytesMax: number = limits.messageBytesMax): void {
    this.#listener = listener;
    this.#reader.bytesMax = bytesMax;
    this.#setDeadline();
    const stream = this.#stream;
    stream.on("data", (chunk: Buffer) => this.#receive(chunk));
    stream.on("end", () => {
      this.#input = "ended";
      this.#deliver();
      this.#request.complete();
    });
    stream.on("close", () => {
      this.#answer.end();
      this.#over();
    });
    stream.on("error", ignore); // "close" follows
    if (listener.takesOne === true) this.#charge(() => this.#request.begin());
  }

  pause(): void {
    this.#isPaused = true;
    this.#stream.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#request.release(this.#inUse);
    this.#inUse = 0;
    this.#deliver();
    if (this.#isReading) this.#stream.resume();
  }

  /** The request was read: the rest of the call, however long it takes, no longer needs its bytes. */
  releaseRequest(): void {
    this.#request.end();
  }

  /** The number of bytes that the peer has not read. */
  get queuedBytes(): number {
    return this.#answer.bytes;
  }

  /** Returns whether the caller should send more now; if not, `drained` follows. */
  send(message: Uint8Array): boolean {
    if (!this.#canSend) return true;
    const stream = this.#stream;
    if (!stream.headersSent) stream.respond(HEADERS, WITH_TRAILERS);
    this.#unsent++;
    const bytes = message.byteLength;
    const isTaken = stream.write(frameMessage(message), () => {
      this.#unsent--;
      this.#answer.sent(bytes);
    });
    this.#answer.add(bytes);
    return isTaken;
  }

  /** Sends the headers of the answer before its first message. */
  begin(): void {
    if (this.#canSend && !this.#stream.headersSent) this.#stream.respond(this.#head, WITH_TRAILERS);
  }

  /** Announces that sent frames may be compressed with this encoding. */
  announce(encoding: "gzip"): void {
    this.#head = { ...HEADERS, "grpc-encoding": encoding };
  }

  /** Sends messages that are framed already. `taken` is called when they have left, or never will. */
  sendFrames(frames: readonly Buffer[], taken: () => void): void {
    const last = frames.at(-1);
    if (!this.#canSend || last === undefined) return taken();
    const stream = this.#stream;
    if (!stream.headersSent) stream.respond(this.#head, WITH_TRAILERS);
    if (frames.length > 1) stream.cork();
    for (const frame of frames.slice(0, -1)) stream.write(frame);
    stream.write(last, taken);
    if (frames.length > 1) stream.uncork();
  }

  /** For calls that send much to readers that may be slow. Other calls on the connection share it. */
  boundSendBuffer(bytes: number): void {
    const socket = socketOf(this.#stream.session);
    if (socket !== undefined) boundSendBuffer(socket, bytes);
  }

  /** Drops sent messages that the caller has not read. The caller receives RESOURCE_EXHAUSTED. */
  cut(): void {
    this.#stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  drained(then: () => void): void {
    this.#stream.once("drain", then);
  }

  /** The only answer, and the end of the call. */
  answer(message: Uint8Array): void {
    if (!this.#canSend) return;
    this.#isAnswered = true;
    this.#stream.respond(HEADERS, WITH_TRAILERS);
    this.#end(OK_TRAILERS, frameMessage(message));
    this.#answer.add(message.byteLength);
  }

  /** Ends the call after all sent messages. */
  end(): void {
    if (!this.#canSend) return;
    if (!this.#stream.headersSent) this.#stream.respond(HEADERS, WITH_TRAILERS);
    this.#end(OK_TRAILERS);
  }

  /** Ends the call with an error after all sent messages. */
  fail(error: unknown): void {
    this.refuse(toGrpcStatus(error));
  }

  refuse(status: GrpcStatus): void {
    if (!this.#canSend) return;
    const stream = this.#stream;
    const trailers = toTrailers(status);
    if (stream.headersSent) return this.#end(trailers);
    this.#isEnding = true;
    this.#request.end();
    this.#reader.clear();
    stream.respond({ ...HEADERS, ...trailers }, { endStream: true });
    stream.resume(); // later data is ignored
    if (this.#input === "open") this.#cutOffLater();
  }

  get #canSend(): boolean {
    return !this.#isEnding && !this.#stream.destroyed && !this.#stream.closed;
  }

  #end(trailers: OutgoingHttpHeaders, last?: Buffer): void {
    this.#isEnding = true;
    this.#request.end();
    this.#reader.clear();
    const stream = this.#stream;
    stream.once("wantTrailers", () => stream.sendTrailers(trailers));
    if (last === undefined) stream.end();
    else stream.end(last);
    if (this.#input !== "open") return;
    stream.resume(); // later data is ignored
    this.#cutOffLater();
  }

  /** A caller that never ends its request would keep the stream open. An immediate reset would hide the status from it. */
  #cutOffLater(): void {
    const stream = this.#stream;
    const late = setTimeout(
      () => stream.close(constants.NGHTTP2_NO_ERROR),
      limits.refusedRequestMsMax,
    ).unref();
    stream.once("close", () => clearTimeout(late));
  }

  #receive(chunk: Buffer): void {
    if (this.#isEnding) return;
    this.#reader.push(chunk);
    this.#charge(() => {
      if (this.#request.arrived(chunk.length, this.#reader.announced)) return;
      this.#isWaiting = true;
      this.#stream.pause();
    });
    this.#deliver();
    if (this.#isEnding) return;
    this.#reader.compact();
    if (this.#listener?.takesOne === true) return;
    // An open stream costs nothing while it is silent: only messages that have begun have a time limit.
    if (this.#reader.isInside && !this.#isPaused && !this.#isUnpacking)
      this.#charge(() => this.#request.begin());
    else this.#request.complete();
  }

  /** A message without memory ends the call. */
  #charge(take: () => void): void {
    try {
      take();
    } catch (error) {
      this.#drop(error);
    }
  }

  #drop(error: unknown): void {
    this.fail(error);
    this.#over();
  }

  #readOn(): void {
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#deliver();
    if (this.#isReading) this.#stream.resume();
  }

  get #isReading(): boolean {
    return !this.#isPaused && !this.#isWaiting && !this.#isUnpacking;
  }

  #deliver(): void {
    while (this.#isReading && !this.#isEnding) {
      const message = this.#nextMessage();
      if (message === undefined) break;
      this.#tell(message);
    }
    if (this.#input !== "ended" || !this.#isReading || this.#isEnding) return;
    this.#input = "told";
    this.#listener?.finished();
  }

  #tell(message: Buffer): void {
    this.#inUse = Math.max(message.length, this.#reader.takenBytes);
    this.#listener?.message(message);
    if (this.#isPaused || this.#listener?.takesOne === true) return;
    this.#request.release(this.#inUse);
    this.#inUse = 0;
  }

  /** Undefined: there is none yet, or it follows when it is unpacked. */
  #nextMessage(): Buffer | undefined {
    try {
      const message = this.#reader.next();
      if (message === undefined && this.#input === "ended" && this.#reader.isInside) {
        throw new AppError("invalid_argument", "the request ends inside a message");
      }
      return message !== undefined && this.#reader.isPacked ? this.#unpack(message) : message;
    } catch (error) {
      this.#drop(error);
      return undefined;
    }
  }

  #unpack(bytes: Buffer): Buffer | undefined {
    const encoding = String(this.headers["grpc-encoding"] ?? "identity");
    const packed = { bytes, encoding, bytesMax: this.#reader.bytesMax };
    if (bytes.length <= limits.unpackAtOnceBytesMax) return this.#charged(unpackAtOnce(packed));
    this.#isUnpacking = true;
    this.#stream.pause();
    this.#request.complete(); // a delay of this server is not the sender's
    const isWanted = (): boolean => !this.#isEnding && !this.#isOver;
    this.#unpacking
      .unpack(packed, isWanted)
      .then((message) => {
        this.#isUnpacking = false;
        if (message === undefined || !isWanted()) return;
        if (this.#listener?.takesOne === true && this.#input === "open") this.#request.begin();
        this.#tell(this.#charged(message));
        this.#deliver();
        if (this.#isReading) this.#stream.resume();
      })
      .catch((error: unknown) => this.#drop(error));
    return undefined;
  }

  /** The message has arrived already: it cannot wait for memory. */
  #charged(message: Buffer): Buffer {
    const more = message.length - this.#reader.takenBytes;
    if (more <= 0 || this.#request.arrived(more, 0)) return message;
    throw new AppError("exhausted", "no room to unpack the message; try again in a moment");
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#request.end();
    clearTimeout(this.#deadline);
    this.#listener?.closed();
  }

  #setDeadline(): void {
    const { "grpc-timeout": timeout } = this.headers;
    if (timeout === undefined) return;
    const ms = parseTimeoutMs(String(timeout));
    if (ms === undefined) return this.fail(invalid("grpc-timeout", "must be a time like 100m"));
    this.#deadline = setTimeout(() => {
      this.refuse(DEADLINE_EXCEEDED);
      this.#over();
    }, ms);
  }
}

const toTrailers = ({ code, details, metadata }: GrpcStatus): OutgoingHttpHeaders => ({
  "grpc-status": code,
  "grpc-message": encodeURI(details),
  ...metadata,
});
