import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { AppError } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { CallError } from "./grpc/call-error.ts";
import type { Channel } from "./grpc/channel.ts";
import type { CallStart, OpenCall } from "./grpc/open-call.ts";
import { fromCallError } from "./status.ts";

/** What a caller may say about one call. */
export interface CallOptions {
  /** Gives up when it fires; the call then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** How long the whole call may take. Streams have no limit unless one is given here. */
  readonly timeoutMs?: number;
}

/** One method of a service, as the generated descriptor tells it. */
export interface ClientMethod<Input extends DescMessage, Output extends DescMessage> {
  readonly name: string;
  readonly input: Input;
  readonly output: Output;
  readonly parent: { readonly typeName: string };
}

/** A server to call, and its description in errors. */
export interface Peer {
  readonly channel: Channel;
  readonly server: string;
  readonly timeoutMs: number;
}

/** Calls a method that answers once. */
export function callUnary<Input extends DescMessage, Output extends DescMessage>(
  peer: Peer,
  method: ClientMethod<Input, Output>,
  request: MessageInitShape<Input>,
  options: CallOptions = {},
): Promise<MessageShape<Output>> {
  const { signal, timeoutMs = peer.timeoutMs } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const bytes = toBinary(method.input, create(method.input, request));
    let answer: Buffer | undefined;
    const call = peer.channel.call(startOf(method, timeoutMs), {
      onMessage: (message) => (answer = message),
      onEnd: (error) => {
        signal?.removeEventListener("abort", onAbort);
        if (signal?.aborted === true) reject(signal.reason as Error);
        else if (error !== undefined) reject(fromCallError(error, peer.server));
        else if (answer === undefined) reject(new AppError("internal", "the answer was empty"));
        else resolve(fromBinary(method.output, answer));
      },
    });
    const onAbort = (): void => call.cancel();
    signal?.addEventListener("abort", onAbort, { once: true });
    call.send(bytes);
    call.finish();
  });
}

/** Calls a method that answers many times. Leaving the loop ends the call. */
export async function* callServerStream<Input extends DescMessage, Output extends DescMessage>(
  peer: Peer,
  method: ClientMethod<Input, Output>,
  request: MessageInitShape<Input>,
  options: CallOptions = {},
): AsyncGenerator<MessageShape<Output>, void, undefined> {
  const { signal, timeoutMs } = options;
  signal?.throwIfAborted();
  const bytes = toBinary(method.input, create(method.input, request));
  const answers = new Answers(peer.channel, startOf(method, timeoutMs));
  answers.send(bytes);
  const onAbort = (): void => answers.cancel();
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      const message = await answers.next();
      signal?.throwIfAborted();
      if (message === undefined) break;
      yield fromBinary(method.output, message);
    }
    if (answers.error !== undefined) throw fromCallError(answers.error, peer.server);
  } finally {
    signal?.removeEventListener("abort", onAbort);
    answers.cancel();
  }
}

/** What a caller hears of a stream of both ways. */
export interface StreamEvents<Output extends DescMessage> {
  onMessage(message: MessageShape<Output>): void;
  /** Called once, last. Undefined: the server ended the call. Not called after `cancel`. */
  onEnd(error: AppError | undefined): void;
}

/** A call under way that both sides send to. After its end every method does nothing. */
export interface OpenStream<Input extends DescMessage> {
  send(message: MessageInitShape<Input>): void;
  cancel(): void;
}

/** Calls a method whose requests and answers are both streams. */
export function callBothWays<Input extends DescMessage, Output extends DescMessage>(
  peer: Peer,
  method: ClientMethod<Input, Output>,
  events: StreamEvents<Output>,
): OpenStream<Input> {
  let isCancelled = false;
  const call = peer.channel.call(startOf(method, undefined), {
    onMessage: (message) => {
      if (!isCancelled) events.onMessage(fromBinary(method.output, message));
    },
    onEnd: (error) => {
      if (!isCancelled) events.onEnd(error && fromCallError(error, peer.server));
    },
  });
  return {
    send: (message) => call.send(toBinary(method.input, create(method.input, message))),
    cancel() {
      isCancelled = true;
      call.cancel();
    },
  };
}

/** The messages of one stream, taken one at a time; the server waits for a reader that is slow. */
class Answers {
  readonly #call: OpenCall;
  readonly #waiting: Buffer[] = [];
  #isPaused = false;
  #isOver = false;
  error: CallError | undefined;
  #wake: (() => void) | undefined;

  constructor(channel: Channel, start: CallStart) {
    this.#call = channel.call(start, {
      onMessage: (message) => {
        this.#waiting.push(message);
        if (!this.#isPaused && this.#waiting.length >= limits.clientAnswersWaitingMax) {
          this.#isPaused = true;
          this.#call.pause();
        }
        this.#wake?.();
      },
      onEnd: (error) => {
        this.#isOver = true;
        this.error = error;
        this.#wake?.();
      },
    });
  }

  send(bytes: Uint8Array): void {
    this.#call.send(bytes);
    this.#call.finish();
  }

  /** Undefined: there are no more. */
  async next(): Promise<Buffer | undefined> {
    while (this.#waiting.length === 0 && !this.#isOver) {
      if (this.#isPaused) {
        this.#isPaused = false;
        this.#call.resume();
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return this.#waiting.shift();
  }

  cancel(): void {
    this.#call.cancel();
  }
}

const startOf = (
  method: { readonly name: string; readonly parent: { readonly typeName: string } },
  timeoutMs: number | undefined,
): CallStart => ({
  path: `/${method.parent.typeName}/${method.name}`,
  timeoutMs,
  bytesMax: limits.documentBytesMax,
});
