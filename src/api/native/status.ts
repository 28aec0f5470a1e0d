import { Metadata, status } from "@grpc/grpc-js";
import { AppError, type ErrorCode } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

/** Total by type: a new code does not compile until both wires have a word for it. */
const WIRES: Readonly<Record<ErrorCode, { readonly grpc: status; readonly http: number }>> = {
  invalid_argument: { grpc: status.INVALID_ARGUMENT, http: 400 },
  not_found: { grpc: status.NOT_FOUND, http: 404 },
  already_exists: { grpc: status.ALREADY_EXISTS, http: 409 },
  permission_denied: { grpc: status.PERMISSION_DENIED, http: 403 },
  conflict: { grpc: status.FAILED_PRECONDITION, http: 409 },
  compacted: { grpc: status.OUT_OF_RANGE, http: 410 },
  exhausted: { grpc: status.RESOURCE_EXHAUSTED, http: 429 },
  unavailable: { grpc: status.UNAVAILABLE, http: 503 },
  internal: { grpc: status.INTERNAL, http: 500 },
};

/**
 * Trailing metadata of a refused call: our own code, of which there are more than gRPC can tell
 * apart, and the field at fault. Its presence tells an answer of ours from one that a library made
 * up because nobody answered.
 */
const CODE_KEY = "busbar-code";
const FIELD_KEY = "busbar-field";

export interface GrpcStatus {
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;
}

/** What a failed call answers. Only the message goes out: causes and stacks are for the log. */
export function toGrpcStatus(error: unknown): GrpcStatus {
  const known = AppError.from(error, "internal error");
  const metadata = new Metadata();
  metadata.set(CODE_KEY, known.code);
  if (known.field !== undefined) metadata.set(FIELD_KEY, toHeader(known.field));
  return { code: WIRES[known.code].grpc, details: toMessage(known), metadata };
}

export interface HttpError {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly field?: string };
}

export const toHttpStatus = (code: ErrorCode): number => WIRES[code].http;

export function toHttpError(error: AppError): HttpError {
  const { code, field } = error;
  const message = toMessage(error);
  return { error: field === undefined ? { code, message } : { code, message, field } };
}

/**
 * Bounded, because messages quote what callers sent, and without halves of characters, on which
 * grpc-js would throw when it writes the trailer.
 */
function toMessage({ message }: AppError): string {
  const { errorMessageCharsMax: max } = limits;
  return (message.length > max ? `${message.slice(0, max)}…` : message).toWellFormed();
}

/** Metadata takes printable ASCII only, and field names may hold whatever a caller wrote. */
const toHeader = (text: string): string => text.slice(0, 256).replace(/[^\x20-\x7e]/g, "?");
