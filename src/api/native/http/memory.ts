import type { IncomingMessage } from "node:http";
import { errorCodes, type FastifyReply, type FastifyRequest } from "fastify";
import { limits } from "../../../limits.ts";
import { type CallMemory, type ConnectionMemory, memoryOf } from "../../grpc/memory/call-memory.ts";
import type { RequestHold } from "../../grpc/memory/request-hold.ts";
import { receiveBody } from "../../web/receive-body.ts";
import type { App } from "./schemas/typebox-provider.ts";

/** Reads the body of a request. */
export type ReadBody = (request: FastifyRequest) => Promise<Buffer>;

/** Charges bodies and answers to the memory that all doors share: docs/design/bytes-under-way.md. */
export function chargeMemory(app: App, memory: CallMemory): ReadBody {
  const ofSocket = memoryOf(memory);
  const connectionOf = ({ socket }: IncomingMessage): ConnectionMemory => ofSocket(socket);
  const holds = new WeakMap<FastifyRequest, RequestHold>();
  // A stream has no answer to wait for: it ends with its connection.
  app.addHook("preHandler", (request, reply, done) => {
    reply.raw.once("close", () => {
      if (reply.sent) holds.get(request)?.end();
    });
    done();
  });
  // Not a promise: routes that stream send their headers in the same turn.
  app.addHook("onSend", (request, reply, payload, done) => {
    // Not in onResponse, which never comes when the caller has left. The work may end later than that, so its memory is held until now.
    holds.get(request)?.end();
    const { raw } = request;
    const isPlain = typeof payload === "string" || Buffer.isBuffer(payload);
    const isRead = !reply.raw.destroyed; // otherwise its close has passed
    if (isPlain && isRead && payload.length > limits.smallMessageBytesMax) {
      const { answers, answersHere } = connectionOf(raw);
      const hold = answers.open(answersHere, () => raw.destroy());
      reply.raw.once("close", () => hold.end());
      hold.add(payload.length);
    }
    done(null, payload);
  });
  return async (request) => {
    const { raw, routeOptions } = request;
    const { bytes, hold } = await receiveBody(raw, connectionOf(raw), {
      bytesMax: routeOptions.bodyLimit ?? limits.messageBytesMax,
      tooLarge: () => new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE(),
    });
    holds.set(request, hold);
    return bytes;
  };
}

/** A caller that continues to send is cut off, but gets time to read the answer. */
export function endUnread({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.complete || raw.destroyed) return;
  reply.header("connection", "close");
  raw.resume();
  const late = setTimeout(() => raw.destroy(), limits.refusedRequestMsMax).unref();
  raw.once("close", () => clearTimeout(late));
}
