import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { handleServerStreamingCall, ServerWritableStream } from "@grpc/grpc-js";
import { AppError } from "../../lib/errors.ts";
import { encodeAnswer, type Method, Undecodable } from "./grpc-codec.ts";
import type { ServiceHost, StreamContext } from "./grpc-service.ts";
import { recordEnd, reportFailure } from "./grpc-unary.ts";
import { toGrpcStatus } from "./status.ts";

type Message = MessageShape<DescMessage>;
type Call = ServerWritableStream<Message | Undecodable, Buffer>;

export function streamHandler(
  method: Method,
  handler: (request: Message, context: StreamContext) => AsyncIterable<Message>,
  host: ServiceHost,
): handleServerStreamingCall<Message | Undecodable, Buffer> {
  return (call) => {
    const startedMs = performance.now();
    const ended = new AbortController();
    const end = (reason: AppError): void => ended.abort(reason);
    // Emitted whenever the stream is over, also after its regular end.
    call.on("cancelled", () => ended.abort());
    host.openStreams.add(end);
    const { signal } = ended;
    const sent = async (): Promise<void> => {
      if (call.request instanceof Undecodable) throw call.request.error;
      const context = { metadata: call.metadata, peer: call.getPeer(), signal };
      await pump(method, handler(call.request, context), call, signal);
    };
    sent().then(
      () => {
        host.openStreams.delete(end);
        recordEnd(host, method, { code: "ok", startedMs });
        call.end();
      },
      (error: unknown) => {
        host.openStreams.delete(end);
        recordEnd(host, method, { code: reportFailure(host, method, error), startedMs });
        // grpc-js ends the stream with this status after what was already written.
        call.emit("error", toGrpcStatus(error));
      },
    );
  };
}

/**
 * Takes from the source only what the caller reads: while grpc-js says that its buffer is full,
 * nothing is pulled. Leaving the loop closes the source, whichever way it is left.
 */
async function pump(
  method: Method,
  source: AsyncIterable<Message>,
  call: Call,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const message of source) {
      if (signal.aborted) break;
      if (!call.write(encodeAnswer(method, message))) await drained(call, signal);
    }
  } catch (error) {
    // A source may end by throwing when it is told to end; that is not news.
    if (!signal.aborted) throw error;
  }
  if (signal.reason instanceof AppError) throw signal.reason;
}

const drained = (call: Call, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      call.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    if (signal.aborted) return resolve();
    call.on("drain", done);
    signal.addEventListener("abort", done);
  });
