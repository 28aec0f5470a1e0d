import { AppError, type ErrorCode } from "../../lib/errors.ts";
import { GRPC } from "../../lib/grpc/status-codes.ts";
import { limits } from "../../limits.ts";

/** Total by type: a new code does not compile until gRPC has a word for it. */
const CODES: Readonly<Record<ErrorCode, number>> = {
  invalid_argument: GRPC.INVALID_ARGUMENT,
  unprocessable: GRPC.INVALID_ARGUMENT,
  not_found: GRPC.NOT_FOUND,
  already_exists: GRPC.ALREADY_EXISTS,
  unauthenticated: GRPC.UNAUTHENTICATED,
  permission_denied: GRPC.PERMISSION_DENIED,
  conflict: GRPC.FAILED_PRECONDITION,
  unschedulable: GRPC.FAILED_PRECONDITION,
  compacted: GRPC.OUT_OF_RANGE,
  exhausted: GRPC.RESOURCE_EXHAUSTED,
  unavailable: GRPC.UNAVAILABLE,
  internal: GRPC.INTERNAL,
};

/**
 * Trailing metadata of a rejected call: Busbar's own code, because it has more codes than gRPC, and the
 * field at fault. Its presence tells an answer of Busbar from one that a library made up because no
 * server answered.
 */
const CODE_KEY = "busbar-code";
const FIELD_KEY = "busbar-field";
/** Where a watch that ended can be resumed. */
const REVISION_KEY = "busbar-revision";

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
  if (known.revision !== undefined) metadata[REVISION_KEY] = String(known.revision);
  return { code: CODES[known.code], details: toMessage(known), metadata };
}

/**
 * Bounded, because messages quote what callers sent, and without halves of characters, which no
 * trailer can hold.
 */
export function toMessage({ message }: AppError): string {
  const { errorMessageCharsMax: max } = limits;
  return (message.length > max ? `${message.slice(0, max)}…` : message).toWellFormed();
}

/** Metadata takes printable ASCII only, and field names may hold whatever a caller wrote. */
const toHeader = (text: string): string => text.slice(0, 256).replace(/[^\x20-\x7e]/g, "?");
