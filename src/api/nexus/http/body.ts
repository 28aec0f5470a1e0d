import type { IncomingMessage } from "node:http";
import { parseBoundedJson } from "../../../lib/bytes/json-size.ts";
import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { ConnectionMemory } from "../../grpc/memory/call-memory.ts";
import { type BodyTerms, receiveBody, requireUtf8 } from "../../web/receive-body.ts";

const TERMS: BodyTerms = {
  bytesMax: limits.nexusBodyBytesMax,
  tooLarge: () =>
    new AppError("invalid_argument", `a body has at most ${limits.nexusBodyBytesMax} bytes`),
};

/** Passes the JSON of a body to a reader; undefined: there is none. */
export async function withBody<Result>(
  request: IncomingMessage,
  memory: ConnectionMemory,
  use: (body: unknown) => Promise<Result>,
): Promise<Result> {
  const { bytes, hold } = await receiveBody(request, memory, TERMS);
  try {
    return await use(bytes.length === 0 ? undefined : parse(requireUtf8(bytes).toString()));
  } finally {
    hold.end();
  }
}

function parse(text: string): unknown {
  try {
    return parseBoundedJson(text, limits);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "";
    throw new AppError("invalid_argument", `the body cannot be read as JSON: ${why}`, { cause });
  }
}

export type Members = Readonly<Record<string, unknown>>;

/** Requires an object, and names its path otherwise. */
export function members(value: unknown, field: string): Members {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  throw invalid(field, "must be an object");
}
