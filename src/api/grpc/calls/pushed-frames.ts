import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { GrpcCall } from "./call.ts";
import type { CallContext } from "./call-context.ts";
import { decodeRequest, type Method } from "./codec.ts";
import type { Serve, ServiceHost } from "../service.ts";
import { receiveOne, recordEnd, reportFailure } from "./unary.ts";

/** The destination of the frames of one call. */
export interface FrameSink {
  /** Call this before the first frame if frames may be compressed with this encoding. */
  announce(encoding: "gzip"): void;
  /** Sends the headers of the answer now: clients of some wires wait for them before they do anything else. */
  begin(): void;
  /** `taken` is called once, when the frames have left or never will. */
  send(frames: readonly Buffer[], taken: () => void): void;
  /** The reader has a while to read earlier frames. */
  end(error: AppError): void;
  /** After `end`: does not wait for the reader any longer. */
  cut(): void;
}

export interface FrameSource {
  close(): void;
  /** The server ends the call: the source passes the error to its sink, with its own additions. */
  end(error: AppError): void;
  /** Called at regular intervals while the call is open. */
  beat(): void;
}

/** Answers a call with frames that a shared source makes for many calls at once: those of `output`. */
export class PushedFrames<Input extends DescMessage, Output extends DescMessage> {
  readonly output: Output;
  readonly open: (
    request: MessageShape<Input>,
    context: CallContext,
    sink: FrameSink,
  ) => FrameSource;

  constructor(output: Output, open: PushedFrames<Input, Output>["open"]) {
    this.output = output;
    this.open = open;
  }
}

export function pushHandler(
  method: Method,
  handler: PushedFrames<DescMessage, DescMessage>,
  host: ServiceHost,
): Serve {
  return (call) => {
    const push = new Push(call, method, host);
    receiveOne(
      call,
      (request) => push.open((sink) => handler.open(decodeRequest(method, request), call, sink)),
      () => push.closed(),
    );
  };
}

/** One such call. Ensures that its end is recorded once, and that a reader does not delay it. */
class Push implements FrameSink {
  readonly #call: GrpcCall;
  readonly #method: Method;
  readonly #host: ServiceHost;
  readonly #startedMs = performance.now();
  readonly #stop = (reason: AppError): void => this.#source?.end(reason);
  #source: FrameSource | undefined;
  #beat: NodeJS.Timeout | undefined;
  #late: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(call: GrpcCall, method: Method, host: ServiceHost) {
    this.#call = call;
    this.#method = method;
    this.#host = host;
  }

  open(open: (sink: FrameSink) => FrameSource): void {
    try {
      const source = open(this);
      this.#source = source;
      this.#call.releaseRequest();
      this.#call.boundSendBuffer(limits.watchSendBufferBytes);
      this.#host.openStreams.add(this.#stop);
      this.#beat = setInterval(() => source.beat(), limits.sseHeartbeatIntervalMs).unref();
    } catch (error) {
      this.#fail(error);
    }
  }

  announce(encoding: "gzip"): void {
    this.#call.announce(encoding);
  }

  begin(): void {
    this.#call.begin();
  }

  send(frames: readonly Buffer[], taken: () => void): void {
    this.#call.sendFrames(frames, taken);
  }

  end(error: AppError): void {
    if (this.#isEnded) return;
    this.#fail(error);
    this.#late = setTimeout(() => this.cut(), limits.drainMsMax).unref();
  }

  cut(): void {
    this.#call.cut();
  }

  #fail(error: unknown): void {
    this.#over(reportFailure(this.#host, this.#method, error));
    this.#call.refuse(this.#host.toStatus(error));
  }

  closed(): void {
    clearTimeout(this.#late);
    this.#over("ok");
  }

  #over(code: Parameters<typeof recordEnd>[2]["code"]): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#beat);
    this.#host.openStreams.delete(this.#stop);
    this.#source?.close();
    recordEnd(this.#host, this.#method, { code, startedMs: this.#startedMs });
  }
}
