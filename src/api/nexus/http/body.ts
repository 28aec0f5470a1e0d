import type { IncomingMessage } from "node:http";
import { ByteBlocks } from "../../../lib/bytes/byte-blocks.ts";
import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { ConnectionMemory } from "../../grpc/memory/call-memory.ts";
import type { RequestHold } from "../../grpc/memory/request-hold.ts";

/** A body that was received, and its share of the memory of all doors. */
interface Received {
  readonly bytes: Buffer;
  readonly hold: RequestHold;
}

const tooLarge = (): AppError =>
  new AppError("invalid_argument", `a body has at most ${limits.nexusBodyBytesMax} bytes`);

/** Reads as far as there is room; without room the socket is not read. */
function receive(request: IncomingMessage, memory: ConnectionMemory): Promise<Received> {
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  const bytesMax = limits.nexusBodyBytesMax;
  const announced = Number(request.headers["content-length"] ?? bytesMax);
  const body = new ByteBlocks();
  const fail = (error: unknown): void => {
    request.off("data", take);
    body.clear();
    hold.end();
    reject(error instanceof Error ? error : new AppError("unavailable", "the body did not come"));
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
  request.once("error", fail);
  request.once("close", () => {
    if (!request.complete) fail(new AppError("unavailable", "the caller has left"));
  });
  try {
    if (announced > bytesMax) throw tooLarge();
    hold.begin();
  } catch (error) {
    fail(error);
  }
  return promise;
}

/** Passes the JSON of a body to a reader; undefined: there is none. */
export async function withBody<Result>(
  request: IncomingMessage,
  memory: ConnectionMemory,
  use: (body: unknown) => Promise<Result>,
): Promise<Result> {
  const { bytes, hold } = await receive(request, memory);
  try {
    return await use(bytes.length === 0 ? undefined : parse(bytes.toString()));
  } finally {
    hold.end();
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "";
    throw new AppError("invalid_argument", `the body is not JSON: ${why}`, { cause });
  }
}

export type Members = Readonly<Record<string, unknown>>;

/** What must be an object, with where it is. */
export function members(value: unknown, field: string): Members {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  throw invalid(field, "must be an object");
}
