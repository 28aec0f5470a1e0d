import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { handleUnaryCall, sendUnaryData, ServerUnaryCall } from "@grpc/grpc-js";
import { AppError, describeChain, type ErrorCode } from "../../lib/errors.ts";
import { encodeAnswer, type Method, Undecodable } from "./grpc-codec.ts";
import type { CallContext, ServiceHost } from "./grpc-service.ts";
import { toGrpcStatus } from "./status.ts";

type Message = MessageShape<DescMessage>;
type Call = ServerUnaryCall<Message | Undecodable, Buffer>;

export function unaryHandler(
  method: Method,
  handler: (request: Message, context: CallContext) => Promise<Message>,
  host: ServiceHost,
): handleUnaryCall<Message | Undecodable, Buffer> {
  const serve = async (call: Call, respond: sendUnaryData<Buffer>): Promise<void> => {
    const startedMs = performance.now();
    const { request } = call;
    try {
      if (request instanceof Undecodable) throw request.error;
      const context = { metadata: call.metadata, peer: call.getPeer() };
      const bytes = encodeAnswer(method, await handler(request, context));
      recordEnd(host, method, { code: "ok", startedMs });
      respond(null, bytes);
    } catch (error) {
      recordEnd(host, method, { code: reportFailure(host, method, error), startedMs });
      respond(toGrpcStatus(error));
    }
  };
  return (call, respond) => void serve(call, respond);
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
