import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { AppError } from "../../../lib/errors.ts";
import type { GrpcCall } from "./call.ts";
import { decodeRequest, encodeAnswer, type Method } from "./codec.ts";
import type { Serve, ServiceHost, StreamContext } from "../service.ts";
import { receiveOne, recordEnd, reportFailure } from "./unary.ts";

type Message = MessageShape<DescMessage>;

export function streamHandler(
  method: Method,
  handler: (request: Message, context: StreamContext) => AsyncIterable<Message>,
  host: ServiceHost,
): Serve {
  return (call) => {
    const startedMs = performance.now();
    const ended = new AbortController();
    const end = (reason: AppError): void => ended.abort(reason);
    const { signal } = ended;
    // A separate function: a stream may last for days, and must not retain the bytes of its request.
    const open = async (request: Buffer): Promise<AsyncIterable<Message>> => {
      const { principal, headers, peer, connection } = call;
      const context = { principal, headers, peer, connection, signal };
      const source = handler(decodeRequest(method, request), context);
      call.releaseRequest();
      return source;
    };
    const serve = async (source: Promise<AsyncIterable<Message>>): Promise<void> => {
      host.openStreams.add(end);
      try {
        await pump(method, await source, call, signal);
        recordEnd(host, method, { code: "ok", startedMs });
        call.end();
      } catch (error) {
        recordEnd(host, method, { code: reportFailure(host, method, error), startedMs });
        call.refuse(host.toStatus(error));
      } finally {
        host.openStreams.delete(end);
      }
    };
    receiveOne(
      call,
      (request) => void serve(open(request)),
      () => ended.abort(),
    );
  };
}

/**
 * Pulls from the source only what the caller reads: while the stream's buffer is full, nothing is pulled. Leaving the loop closes the
 * source in any case.
 */
async function pump(
  method: Method,
  source: AsyncIterable<Message>,
  call: GrpcCall,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const message of source) {
      if (signal.aborted) break;
      if (!call.send(encodeAnswer(method, message))) await drained(call, signal);
    }
  } catch (error) {
    // A source may end by throwing when its signal fires; that is expected.
    if (!signal.aborted) throw error;
  }
  if (signal.reason instanceof AppError) throw signal.reason;
}

const drained = (call: GrpcCall, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    if (signal.aborted) return resolve();
    call.drained(done);
    signal.addEventListener("abort", done);
  });
