import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { AppError, type ErrorCode } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { GrpcCall } from "./call.ts";
import type { CallContext } from "./call-context.ts";
import { decodeRequest, encodeAnswer, type Method } from "./codec.ts";
import type { Serve, ServiceHost } from "../service.ts";
import { recordEnd, reportFailure } from "./unary.ts";

/**
 * The server's end of a bidirectional stream. After its end, whatever ended it, sending does nothing. The stream of a peer that leaves too
 * many messages unread fails with `exhausted`.
 */
export interface BidiPeer<Output> {
  readonly context: CallContext;
  send(message: Output): void;
  /** The number of messages that the peer has not read. */
  readonly queued: number;
  /** Bytes received on its connection so far, including incomplete messages. */
  readonly bytesReceived: number;
  /** Ends the stream after all sent messages. */
  close(): void;
  /** Ends the stream with an error after all sent messages. */
  fail(error: unknown): void;
}

export interface BidiReceiver<Input> {
  /** A faster decoder for usual messages; undefined: the general one decodes it. */
  decode?(bytes: Buffer): Input | undefined;
  /** While a returned promise is pending, nothing more is read. An error fails the stream. */
  message(message: Input): void | Promise<void>;
  /** The peer will send no more; this end still may. Without it, the stream is closed. */
  finished?(): void;
  /** Called once, when the stream is over for whatever reason. */
  closed(): void;
}

/** Answers one stream: called when it opens, returns the receiver of its messages. */
export type Connect<Input, Output> = (peer: BidiPeer<Output>) => BidiReceiver<Input>;

type Message = MessageShape<DescMessage>;

export const bidiHandler =
  (method: Method, connect: Connect<Message, Message>, host: ServiceHost): Serve =>
  (call) =>
    new BidiCall(method, call, host).run(connect);

/** Ensures that a stream ends once, and that its receiver is notified once. */
class BidiCall implements BidiPeer<Message> {
  readonly context: CallContext;
  readonly #method: Method;
  readonly #call: GrpcCall;
  readonly #host: ServiceHost;
  readonly #startedMs = performance.now();
  readonly #end = (reason: AppError): void => this.fail(reason);
  #receiver: BidiReceiver<Message> | undefined;
  /** Sends nothing new; queued messages still go out. */
  #isEnding = false;
  #isOver = false;
  #code: ErrorCode | "ok" = "ok";

  constructor(method: Method, call: GrpcCall, host: ServiceHost) {
    this.context = call;
    this.#method = method;
    this.#call = call;
    this.#host = host;
  }

  run(connect: Connect<Message, Message>): void {
    this.#host.openStreams.add(this.#end);
    try {
      this.#receiver = connect(this);
    } catch (error) {
      this.fail(error);
    }
    this.#call.start({
      message: (bytes) => this.#receive(bytes),
      finished: () => this.#finished(),
      closed: () => this.#over(),
    });
  }

  get queued(): number {
    return this.#call.queued;
  }

  get bytesReceived(): number {
    return this.#call.bytesReceived;
  }

  send(message: Message): void {
    if (this.#isEnding) return;
    try {
      this.#call.send(encodeAnswer(this.#method, message));
    } catch (error) {
      return this.fail(error);
    }
    const { queued, queuedBytes } = this.#call;
    if (queued > limits.streamQueueMessagesMax || queuedBytes > limits.streamQueueBytesMax) {
      const unread = `${queued} messages (${queuedBytes} bytes) wait to be read`;
      this.fail(new AppError("exhausted", unread));
    }
  }

  close(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#call.end();
  }

  fail(error: unknown): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#code = reportFailure(this.#host, this.#method, error);
    this.#call.refuse(this.#host.toStatus(error));
    // With a peer that does not read, the stream would never end.
    this.#over();
  }

  #receive(bytes: Buffer): void {
    if (this.#isEnding || this.#receiver === undefined) return;
    try {
      const message = this.#receiver.decode?.(bytes) ?? decodeRequest(this.#method, bytes);
      const handled = this.#receiver.message(message);
      if (handled === undefined) return;
      this.#call.pause();
      handled.then(
        () => this.#call.resume(),
        (error: unknown) => this.fail(error),
      );
    } catch (error) {
      this.fail(error);
    }
  }

  #finished(): void {
    if (this.#isEnding) return;
    if (this.#receiver?.finished === undefined) this.close();
    else this.#receiver.finished();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isEnding = true;
    this.#host.openStreams.delete(this.#end);
    recordEnd(this.#host, this.#method, { code: this.#code, startedMs: this.#startedMs });
    this.#receiver?.closed();
  }
}
