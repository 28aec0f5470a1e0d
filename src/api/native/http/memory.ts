import type { IncomingMessage } from "node:http";
import { errorCodes, type FastifyReply, type FastifyRequest } from "fastify";
import { ByteBlocks } from "../../../lib/bytes/byte-blocks.ts";
import { limits } from "../../../limits.ts";
import { type CallMemory, type ConnectionMemory, memoryOf } from "../../grpc/memory/call-memory.ts";
import type { RequestHold } from "../../grpc/memory/request-hold.ts";
import type { App } from "./schemas/typebox-provider.ts";

/** Reads the body of a request. */
export type ReadBody = (request: FastifyRequest) => Promise<Buffer>;

/** Charges bodies and answers to the memory that all doors share: docs/design/bytes-under-way.md. */
export function chargeMemory(app: App, memory: CallMemory): ReadBody {
  const ofSocket = memoryOf(memory);
  const connectionOf = ({ socket }: IncomingMessage): ConnectionMemory => ofSocket(socket);
  const holds = new WeakMap<FastifyRequest, RequestHold>();
  app.addHook("onResponse", (request, _, done) => {
    holds.get(request)?.end();
    done();
  });
  // Not a promise: routes that stream send their headers in the same turn.
  app.addHook("onSend", ({ raw }, reply, payload, done) => {
    const isPlain = typeof payload === "string" || Buffer.isBuffer(payload);
    if (isPlain && payload.length > limits.smallMessageBytesMax) {
      const { answers, answersHere } = connectionOf(raw);
      const hold = answers.open(answersHere, () => raw.destroy());
      reply.raw.once("close", () => hold.end());
      hold.add(payload.length);
    }
    done(null, payload);
  });
  return (request) =>
    readBody(request, connectionOf(request.raw), (hold) => holds.set(request, hold));
}

/** A caller that continues to send is cut off, but gets time to read the answer. */
export function endUnread({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.complete || raw.destroyed) return;
  reply.header("connection", "close");
  raw.resume();
  const late = setTimeout(() => raw.destroy(), limits.refusedRequestMsMax).unref();
  raw.once("close", () => clearTimeout(late));
}

/** Reads while there is memory; without memory the socket is not read. */
function readBody(
  { raw, headers, routeOptions }: FastifyRequest,
  { requests, requestsHere }: ConnectionMemory,
  opened: (hold: RequestHold) => void,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const bytesMax = routeOptions.bodyLimit ?? limits.messageBytesMax;
  // Without a length it may become as large as the route allows.
  const announced = Number(headers["content-length"] ?? bytesMax);
  const body = new ByteBlocks();
  const fail = (error: unknown): void => {
    raw.off("data", receive);
    body.clear();
    hold.end();
    reject(error);
  };
  const hold = requests.open(requestsHere, { resume: () => raw.resume(), drop: fail });
  opened(hold);
  const receive = (chunk: Buffer): void => {
    try {
      if (body.length + chunk.length > bytesMax) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
      body.append(chunk);
      if (!hold.arrived(chunk.length, announced)) raw.pause();
    } catch (error) {
      fail(error);
    }
  };
  raw.on("data", receive);
  raw.once("end", () => {
    hold.complete();
    resolve(body.take());
  });
  raw.once("error", fail);
  try {
    if (announced > bytesMax) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
    hold.begin();
  } catch (error) {
    fail(error);
  }
  return promise;
}
