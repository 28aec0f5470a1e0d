import type { IncomingHttpHeaders } from "node:http2";
import { AppError } from "../../lib/errors.ts";
import { GRPC } from "../../lib/grpc/status-codes.ts";
import { CallError } from "./call-error.ts";
import type { StreamLoss } from "./http-stream.ts";

// Codes of resets: RFC 9113, section 7.
const NO_ERROR = 0x0;
/** The server has not processed the request: a client may send it again. */
export const REFUSED_STREAM = 0x7;
export const CANCEL = 0x8;
const ENHANCE_YOUR_CALM = 0xb;

/** Undefined: the call succeeded. */
export function statusError(metadata: IncomingHttpHeaders): CallError | undefined {
  const code = Number(metadata["grpc-status"]);
  if (code === GRPC.OK) return undefined;
  const details = toText(metadata["grpc-message"]);
  return new CallError(Number.isInteger(code) ? code : GRPC.UNKNOWN, details, { metadata });
}

/** Of a call that ended without a status. */
export function lossError({ isConnectionGone, resetCode, cause }: StreamLoss): CallError {
  const code = isConnectionGone ? GRPC.UNAVAILABLE : statusOfReset(resetCode);
  return new CallError(code, cause?.message ?? "the call ended without a status", { cause });
}

/** The mapping of gRPC over HTTP/2. */
function statusOfReset(code: number | undefined): number {
  switch (code) {
    case ENHANCE_YOUR_CALM:
      return GRPC.RESOURCE_EXHAUSTED;
    case CANCEL:
      return GRPC.CANCELLED;
    case NO_ERROR:
    case REFUSED_STREAM:
    case undefined:
      return GRPC.UNAVAILABLE;
    default:
      return GRPC.INTERNAL;
  }
}

/** Why an answer could not be read. */
export function toCallError(error: unknown): CallError {
  const known = AppError.from(error, "read the answer");
  const code = known.code === "exhausted" ? GRPC.RESOURCE_EXHAUSTED : GRPC.INTERNAL;
  return new CallError(code, known.message, { cause: error });
}

/** Decodes percent-encoding, as gRPC uses it; returns any other text unchanged. */
function toText(header: string | string[] | undefined): string {
  const text = header?.toString() ?? "";
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
