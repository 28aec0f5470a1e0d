import { AppError } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { CallError } from "./grpc/call-error.ts";
import type { CallChannel, CallStart, OpenCall } from "./grpc/open-call.ts";
import { fromCallError } from "./status.ts";

/** Options of one call. */
export interface CallOptions {
  /** Ends the call when it fires; the call then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** The time limit of the whole call. Streams have no limit by default. */
  readonly timeoutMs?: number;
}

/** One method of a service: where it is, and how its messages become bytes and back. */
export interface ClientMethod<Request = object, Answer = object> {
  /** "/package.Service/Method" */
  readonly path: string;
  encode(request: Request): Uint8Array;
  decode(answer: Uint8Array): Answer;
}

/** A server to call, and its description in errors. */
export interface Peer {
  readonly channel: CallChannel;
  readonly server: string;
  readonly timeoutMs: number;
}

/** Calls a unary method. */
export function callUnary<Request, Answer>(
  peer: Peer,
  method: ClientMethod<Request, Answer>,
  request: Request,
  options: CallOptions = {},
): Promise<Answer> {
  const { signal, timeoutMs = peer.timeoutMs } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const bytes = method.encode(request);
    let answer: Buffer | undefined;
    const call = peer.channel.call(startOf(method, timeoutMs), {
      onMessage: (message) => (answer = message),
      onEnd: (error) => {
        signal?.removeEventListener("abort", onAbort);
        if (signal?.aborted === true) reject(signal.reason as Error);
        else if (error !== undefined) reject(fromCallError(error, peer.server));
        else if (answer === undefined) reject(new AppError("internal", "the answer was empty"));
        else decodeTo(method, answer, resolve, reject);
      },
    });
    const onAbort = (): void => call.cancel();
    signal?.addEventListener("abort", onAbort, { once: true });
    call.send(bytes);
    call.finish();
  });
}

/** Bytes that are no message reject the call, and not the process. */
function decodeTo<Answer>(
  method: ClientMethod<never, Answer>,
  bytes: Buffer,
  resolve: (answer: Answer) => void,
  reject: (error: unknown) => void,
): void {
  try {
    resolve(method.decode(bytes));
  } catch (error) {
    reject(error);
  }
}

/** Calls a method with a stream of answers. Leaving the loop ends the call. */
export async function* callServerStream<Request, Answer>(
  peer: Peer,
  method: ClientMethod<Request, Answer>,
  request: Request,
  options: CallOptions = {},
): AsyncGenerator<Answer, void, undefined> {
  const { signal, timeoutMs } = options;
  signal?.throwIfAborted();
  const bytes = method.encode(request);
  const answers = new Answers(peer.channel, startOf(method, timeoutMs));
  answers.send(bytes);
  const onAbort = (): void => answers.cancel();
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      const message = await answers.next();
      signal?.throwIfAborted();
      if (message === undefined) break;
      yield method.decode(message);
    }
    if (answers.error !== undefined) throw fromCallError(answers.error, peer.server);
  } finally {
    signal?.removeEventListener("abort", onAbort);
    answers.cancel();
  }
}

/** The events of a bidirectional stream. */
export interface StreamEvents<Answer> {
  onMessage(message: Answer): void;
  /** Called once, last. Undefined: the server ended the call. Not called after `cancel`. */
  onEnd(error: AppError | undefined): void;
}

/** An open bidirectional stream. After its end every method does nothing. */
export interface OpenStream<Request> {
  send(message: Request): void;
  cancel(): void;
}

/** Calls a method whose requests and answers are both streams. */
export function callBothWays<Request, Answer>(
  peer: Peer,
  method: ClientMethod<Request, Answer>,
  events: StreamEvents<Answer>,
): OpenStream<Request> {
  let isCancelled = false;
  const call = peer.channel.call(startOf(method, undefined), {
    onMessage: (message) => {
      if (!isCancelled) events.onMessage(method.decode(message));
    },
    onEnd: (error) => {
      if (!isCancelled) events.onEnd(error && fromCallError(error, peer.server));
    },
  });
  return {
    send: (message) => call.send(method.encode(message)),
    cancel() {
      isCancelled = true;
      call.cancel();
    },
  };
}

/** The messages of one stream, read one at a time; the server waits for a slow reader. */
class Answers {
  readonly #call: OpenCall;
  readonly #waiting: Buffer[] = [];
  #isPaused = false;
  #isOver = false;
  error: CallError | undefined;
  #wake: (() => void) | undefined;

  constructor(channel: CallChannel, start: CallStart) {
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

  /** Undefined: the stream has ended. */
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
  { path }: { readonly path: string },
  timeoutMs: number | undefined,
): CallStart => ({
  path,
  timeoutMs,
  bytesMax: limits.documentBytesMax,
});
