import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { handleUnaryCall, sendUnaryData, ServerUnaryCall } from "@grpc/grpc-js";
import { AppError, describeChain, type ErrorCode } from "../../lib/errors.ts";
import { invariant } from "../../lib/invariant.ts";
import {
  checkAnswer,
  type Decoded,
  encodeAnswer,
  type Method,
  RawRequest,
  Undecodable,
} from "./grpc-codec.ts";
import { OfBytes } from "./grpc-of-bytes.ts";
import type { CallContext, ServiceHost } from "./grpc-service.ts";
import { toGrpcStatus } from "./status.ts";

type Message = MessageShape<DescMessage>;
type Call = ServerUnaryCall<Decoded, Buffer>;
type Handler = (request: Message, context: CallContext) => Promise<Message>;

export function unaryHandler(
  method: Method,
  handler: Handler | OfBytes<DescMessage>,
  host: ServiceHost,
): handleUnaryCall<Decoded, Buffer> {
  const serve = async (call: Call, respond: sendUnaryData<Buffer>): Promise<void> => {
    const startedMs = performance.now();
    const { request } = call;
    try {
      if (request instanceof Undecodable) throw request.error;
      const context = { metadata: call.metadata, peer: call.getPeer() };
      const bytes = await answer(method, handler, request, context);
      recordEnd(host, method, { code: "ok", startedMs });
      respond(null, bytes);
    } catch (error) {
      recordEnd(host, method, { code: reportFailure(host, method, error), startedMs });
      respond(toGrpcStatus(error));
    }
  };
  return (call, respond) => void serve(call, respond);
}

async function answer(
  method: Method,
  handler: Handler | OfBytes<DescMessage>,
  request: Message | RawRequest,
  context: CallContext,
): Promise<Buffer> {
  if (handler instanceof OfBytes) {
    invariant(request instanceof RawRequest, "a method of bytes is given bytes");
    return checkAnswer(method, await handler.answer(request.bytes, context));
  }
  invariant(!(request instanceof RawRequest), "a method of messages is given a message");
  return encodeAnswer(method, await handler(request, context));
}

/** Our own mistakes are logged with all we know; the caller only hears that there was one. */
export function reportFailure(host: ServiceHost, method: Method, error: unknown): ErrorCode {
  const { code } = AppError.from(error, "internal error");
  if (code === "internal") {
    const stack = error instanceof Error ? error.stack : undefined;
    host.logger.error({ method: method.name, error: describeChain(error), stack }, "call failed");
  }
  return code;
}

export function recordEnd(
  host: ServiceHost,
  method: Method,
  end: { readonly code: ErrorCode | "ok"; readonly startedMs: number },
): void {
  const ms = performance.now() - end.startedMs;
  host.traffic?.record("grpc", method.name, { code: end.code, ms });
}
