import type { IncomingHttpHeaders } from "node:http2";
import { ANONYMOUS, type Principal } from "../../../core/access/principal.ts";
import { AppError, invalid } from "../../../lib/errors.ts";
import { boundSendBuffer } from "../../../lib/bytes/send-buffer.ts";
import { limits } from "../../../limits.ts";
import type { AnswerHold } from "../memory/answer-bytes.ts";
import { frameMessage, MessageReader } from "../../../lib/grpc/frames.ts";
import type { ConnectionMemory } from "../memory/call-memory.ts";
import type { RequestHold } from "../memory/request-hold.ts";
import { HTTP2 } from "../../../lib/http2/error-codes.ts";
import { HeaderList } from "../http2/header-list.ts";
import { DEADLINE_EXCEEDED, GZIP_HEAD, HEAD, OK_TRAILERS, toTrailers } from "./answer-headers.ts";
import type { RequestStream, RequestStreamEvents } from "../http2/transport.ts";
import { type GrpcStatus, toGrpcStatus } from "../status.ts";
import { parseTimeoutMs } from "./timeout.ts";
import { unpackAtOnce } from "../../../lib/grpc/unpack.ts";
import type { CallListener, UnaryContext } from "./call-context.ts";
import type { Unpacking } from "./unpacking.ts";

/** One call on its HTTP/2 stream: messages in, messages out, one status at the end. */
export class GrpcCall implements UnaryContext, RequestStreamEvents {
  readonly headers: IncomingHttpHeaders;
  /** Set by the interceptor, before any handler answers the call. */
  principal: Principal = ANONYMOUS;
  readonly #stream: RequestStream;
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
  #isClosed = false;
  #isSettled = false;
  /** The handler still works though the caller has left. */
  #abandoned: (() => void) | undefined;
  #unsent = 0;
  #head = HEAD;
  #deadline: NodeJS.Timeout | undefined;
  #cutOff: NodeJS.Timeout | undefined;
  #drained: (() => void) | undefined;
  #closed: (() => void) | undefined;
  #delivered: Promise<boolean> | undefined;

  constructor(stream: RequestStream, headers: IncomingHttpHeaders, memory: ConnectionMemory) {
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
    const { remoteAddress, remotePort } = this.#stream.connection.socket ?? {};
    return `${remoteAddress}:${remotePort}`;
  }

  get connection(): object {
    return this.#stream.connection;
  }

  get isAwaited(): boolean {
    return this.#canSend;
  }

  delivered(): Promise<boolean> {
    return (this.#delivered ??= new Promise((resolve) => {
      const isSent = () => this.#isAnswered && this.#stream.resetCode === HTTP2.NO_ERROR;
      const done = () => (isSent() ? this.#stream.confirm(resolve) : resolve(false));
      if (this.#isClosed) done();
      else this.#closed = done;
    }));
  }

  /** Bytes received on its connection so far. */
  get bytesReceived(): number {
    return this.#stream.connection.socket?.bytesRead ?? 0;
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
    this.#stream.listen(this);
    if (listener.takesOne === true) this.#charge(() => this.#request.begin());
  }

  onEnd(): void {
    this.#input = "ended";
    this.#deliver();
    this.#request.complete();
  }

  onDrain(): void {
    this.#drained?.();
    this.#drained = undefined;
  }

  onClose(): void {
    this.#isClosed = true;
    clearTimeout(this.#cutOff);
    this.#answer.end();
    this.#over();
    this.#closed?.();
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
    this.#settle();
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
    if (!stream.hasResponded) stream.respond(HEAD);
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
    if (this.#canSend && !this.#stream.hasResponded) this.#stream.respond(this.#head);
  }

  /** Announces that sent frames may be compressed with this encoding. */
  announce(encoding: "gzip"): void {
    if (encoding === "gzip") this.#head = GZIP_HEAD;
  }

  /** Sends messages that are framed already. `taken` is called when they have left, or never will. */
  sendFrames(frames: readonly Buffer[], taken: () => void): void {
    if (!this.#canSend || frames.length === 0) return taken();
    const stream = this.#stream;
    if (!stream.hasResponded) stream.respond(this.#head);
    stream.writeAll(frames, taken);
  }

  /** For calls that send much to readers that may be slow. Other calls on the connection share it. */
  boundSendBuffer(bytes: number): void {
    const { socket } = this.#stream.connection;
    if (socket !== undefined) boundSendBuffer(socket, bytes);
  }

  /** Drops sent messages that the caller has not read. The caller receives RESOURCE_EXHAUSTED. */
  cut(): void {
    this.#stream.close(HTTP2.ENHANCE_YOUR_CALM);
  }

  drained(then: () => void): void {
    this.#drained = then;
  }

  /** The only answer, and the end of the call. */
  answer(message: Uint8Array): void {
    this.#settle();
    if (!this.#canSend) return;
    this.#isAnswered = true;
    this.#stream.respond(HEAD);
    this.#end(OK_TRAILERS, frameMessage(message));
    this.#answer.add(message.byteLength);
  }

  /** Ends the call after all sent messages. */
  end(): void {
    this.#settle();
    if (!this.#canSend) return;
    if (!this.#stream.hasResponded) this.#stream.respond(HEAD);
    this.#end(OK_TRAILERS);
  }

  /** Ends the call with an error after all sent messages. */
  fail(error: unknown): void {
    this.refuse(toGrpcStatus(error));
  }

  refuse(status: GrpcStatus): void {
    this.#settle();
    this.#refuse(status);
  }

  #refuse(status: GrpcStatus): void {
    if (!this.#canSend) return;
    const stream = this.#stream;
    const trailers = toTrailers(status);
    if (stream.hasResponded) return this.#end(new HeaderList(trailers));
    this.#isEnding = true;
    this.#request.end();
    this.#reader.clear();
    stream.respondOnly(HEAD.with(trailers));
    if (this.#input === "open") this.#cutOffLater();
  }

  get #canSend(): boolean {
    return !this.#isEnding && this.#stream.isOpen;
  }

  #end(trailers: HeaderList, last?: Buffer): void {
    this.#isEnding = true;
    this.#request.end();
    this.#reader.clear();
    const stream = this.#stream;
    stream.end(trailers, last);
    if (this.#input !== "open") return;
    stream.resume(); // later data is ignored
    this.#cutOffLater();
  }

  /** A caller that never ends its request would keep the stream open. An immediate reset would hide the status from it. */
  #cutOffLater(): void {
    const stream = this.#stream;
    this.#cutOff = setTimeout(
      () => stream.close(HTTP2.NO_ERROR),
      limits.refusedRequestMsMax,
    ).unref();
  }

  /** The handler is done with the request, though its caller may have left before. */
  #settle(): void {
    this.#isSettled = true;
    if (this.#abandoned === undefined) return;
    this.#abandoned();
    this.#abandoned = undefined;
    this.#request.end();
  }

  onData(chunk: Buffer): void {
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
    clearTimeout(this.#deadline);
    // The work and the request of a call that its caller has reset still count, until its handler is done.
    const isAtWork = this.#listener?.takesOne === true && this.#input === "told";
    if (isAtWork && !this.#isSettled) {
      this.#abandoned = this.#stream.connection.abandon();
    } else this.#request.end();
    this.#listener?.closed();
  }

  #setDeadline(): void {
    const { "grpc-timeout": timeout } = this.headers;
    if (timeout === undefined) return;
    const ms = parseTimeoutMs(String(timeout));
    if (ms === undefined) return this.fail(invalid("grpc-timeout", "must be a time like 100m"));
    this.#deadline = setTimeout(() => {
      this.#refuse(DEADLINE_EXCEEDED);
      this.#over();
    }, ms);
  }
}
