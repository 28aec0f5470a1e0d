import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { ByteBlocks } from "../../lib/bytes/byte-blocks.ts";
import { AppError } from "../../lib/errors.ts";
import type { ConnectionMemory } from "../grpc/memory/call-memory.ts";
import type { RequestHold } from "../grpc/memory/request-hold.ts";

/** A body that was received, and its share of the memory of all doors. */
interface Received {
  readonly bytes: Buffer;
  readonly hold: RequestHold;
}

export interface BodyTerms {
  readonly bytesMax: number;
  readonly tooLarge: () => Error;
}

/** Reads as far as there is room; without room the socket is not read. A refused body is left to the caller. */
export function receiveBody(
  request: IncomingMessage,
  memory: ConnectionMemory,
  { bytesMax, tooLarge }: BodyTerms,
): Promise<Received> {
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  const announced = Number(request.headers["content-length"] ?? bytesMax);
  const body = new ByteBlocks();
  const fail = (error: unknown): void => {
    request.off("data", take);
    body.clear();
    hold.end();
    reject(
      error instanceof Error
        ? error
        : new AppError("unavailable", "the body did not arrive in time"),
    );
  };
  const take = (chunk: Buffer): void => {
    try {
      if (body.length + chunk.length > bytesMax) throw tooLarge();
      body.append(chunk);
      if (!hold.arrived(chunk.length, announced)) request.pause();
    } catch (error) {
      fail(error);
    }
  };
  const hold = memory.requests.open(memory.requestsHere, {
    resume: () => void request.resume(),
    drop: fail,
  });
  request.on("data", take);
  request.once("end", () => {
    hold.complete();
    resolve({ bytes: body.take(), hold });
  });
  // Both mean it: a socket that was reset reports an error, one that was closed may not.
  const abandon = (cause?: Error): void =>
    fail(new AppError("unavailable", "the caller has disconnected", { cause }));
  request.once("error", abandon);
  request.once("close", () => {
    if (!request.complete) abandon();
  });
  try {
    if (announced > bytesMax) throw tooLarge();
    hold.begin();
  } catch (error) {
    fail(error);
  }
  return promise;
}

/** Decoding would replace invalid bytes: another command would run than the caller sent. */
export function requireUtf8(bytes: Buffer): Buffer {
  if (isUtf8(bytes)) return bytes;
  throw new AppError("invalid_argument", "the body is not valid UTF-8");
}
