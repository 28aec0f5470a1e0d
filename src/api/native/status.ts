import { AppError, type ErrorCode } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

/** Those codes of gRPC that we say. */
export const GRPC = {
  OK: 0,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

/** Total by type: a new code does not compile until both wires have a word for it. */
const WIRES: Readonly<Record<ErrorCode, { readonly grpc: number; readonly http: number }>> = {
  invalid_argument: { grpc: GRPC.INVALID_ARGUMENT, http: 400 },
  not_found: { grpc: GRPC.NOT_FOUND, http: 404 },
  already_exists: { grpc: GRPC.ALREADY_EXISTS, http: 409 },
  permission_denied: { grpc: GRPC.PERMISSION_DENIED, http: 403 },
  conflict: { grpc: GRPC.FAILED_PRECONDITION, http: 409 },
  unschedulable: { grpc: GRPC.FAILED_PRECONDITION, http: 422 },
  compacted: { grpc: GRPC.OUT_OF_RANGE, http: 410 },
  exhausted: { grpc: GRPC.RESOURCE_EXHAUSTED, http: 429 },
  unavailable: { grpc: GRPC.UNAVAILABLE, http: 503 },
  internal: { grpc: GRPC.INTERNAL, http: 500 },
};

/**
 * Trailing metadata of a refused call: our own code, of which there are more than gRPC can tell
 * apart, and the field at fault. Its presence tells an answer of ours from one that a library made
 * up because nobody answered.
 */
const CODE_KEY = "busbar-code";
const FIELD_KEY = "busbar-field";

export interface GrpcStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** What a failed call answers. Only the message goes out: causes and stacks are for the log. */
export function toGrpcStatus(error: unknown): GrpcStatus {
  const known = AppError.from(error, "internal error");
  const metadata: Record<string, string> = { [CODE_KEY]: known.code };
  if (known.field !== undefined) metadata[FIELD_KEY] = toHeader(known.field);
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
 * Bounded, because messages quote what callers sent, and without halves of characters, which no
 * trailer can hold.
 */
function toMessage({ message }: AppError): string {
  const { errorMessageCharsMax: max } = limits;
  return (message.length > max ? `${message.slice(0, max)}…` : message).toWellFormed();
}

/** Metadata takes printable ASCII only, and field names may hold whatever a caller wrote. */
const toHeader = (text: string): string => text.slice(0, 256).replace(/[^\x20-\x7e]/g, "?");
