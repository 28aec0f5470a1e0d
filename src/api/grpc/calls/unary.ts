import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { AppError, describeChain, type ErrorCode } from "../../../lib/errors.ts";
import type { GrpcCall } from "./call.ts";
import type { CallContext, CallListener } from "./call-context.ts";
import { checkAnswer, decodeRequest, encodeAnswer, type Method } from "./codec.ts";
import { BytesMethod } from "./bytes-method.ts";
import type { Serve, ServiceHost } from "../service.ts";
import { GRPC } from "../../../lib/grpc/status-codes.ts";

type Message = MessageShape<DescMessage>;
type Handler = (request: Message, context: CallContext) => Promise<Message>;

export function unaryHandler(
  method: Method,
  handler: Handler | BytesMethod<DescMessage>,
  host: ServiceHost,
): Serve {
  const { answerBytesMax, requestBytesMax } = host;
  const answer = async (request: Buffer, call: GrpcCall): Promise<Uint8Array> =>
    handler instanceof BytesMethod
      ? checkAnswer(method, await handler.answer(request, call), answerBytesMax)
      : encodeAnswer(method, await handler(decodeRequest(method, request), call), answerBytesMax);
  const serve = async (call: GrpcCall, request: Buffer): Promise<void> => {
    const startedMs = performance.now();
    try {
      const bytes = await answer(request, call);
      recordEnd(host, method, { code: "ok", startedMs });
      call.answer(bytes);
    } catch (error) {
      recordEnd(host, method, { code: reportFailure(host, method, error), startedMs });
      call.refuse(host.toStatus(error));
    }
  };
  return (call) =>
    receiveOne(call, (request) => void serve(call, request), nothing, requestBytesMax);
}

const nothing = (): void => undefined;

/** Waits until the only message of a request is complete. */
export function receiveOne(
  call: GrpcCall,
  then: (request: Buffer) => void,
  closed: () => void,
  bytesMax?: number,
): void {
  let request: Buffer | undefined;
  const listener: CallListener = {
    takesOne: true,
    message(bytes) {
      if (request === undefined) request = bytes;
      else call.refuse(notOne("more than one message"));
    },
    finished() {
      if (request === undefined) call.refuse(notOne("no message"));
      else {
        const whole = request;
        request = Buffer.alloc(0); // a stream of answers may last for days
        then(whole);
      }
    },
    closed,
  };
  call.start(listener, bytesMax);
}

/** As in gRPC's table of statuses. */
const notOne = (what: string) => ({
  code: GRPC.UNIMPLEMENTED,
  details: `the request has ${what}; this method takes one`,
  metadata: {},
});

/** Bugs of Busbar are logged with all details; the caller only learns that there was one. */
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
