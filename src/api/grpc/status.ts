import { AppError, type ErrorCode } from "../../lib/errors.ts";
import { GRPC } from "../../lib/grpc/status-codes.ts";
import { limits } from "../../limits.ts";

/** Exhaustive by type: a new code does not compile until gRPC has one for it. */
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
 * Trailing metadata of a rejected call: Busbar's own code, because it has more codes than gRPC, and the wrong field. Its presence
 * distinguishes an answer of Busbar from one that a library made because no server answered.
 */
const CODE_KEY = "busbar-code";
const FIELD_KEY = "busbar-field";
/** The revision to resume an ended watch from. */
const REVISION_KEY = "busbar-revision";

export interface GrpcStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The status of a failed call. Only the message is sent: causes and stacks are for the log. */
export function toGrpcStatus(error: unknown): GrpcStatus {
  const known = AppError.from(error, "internal error");
  const metadata: Record<string, string> = { [CODE_KEY]: known.code };
  if (known.field !== undefined) metadata[FIELD_KEY] = toHeader(known.field);
  if (known.revision !== undefined) metadata[REVISION_KEY] = String(known.revision);
  return { code: CODES[known.code], details: toMessage(known), metadata };
}

/** Bounded, because messages quote input of callers, and without half characters, which no trailer can contain. */
export function toMessage({ message }: AppError): string {
  const { errorMessageCharsMax: max } = limits;
  return (message.length > max ? `${message.slice(0, max)}…` : message).toWellFormed();
}

/** Metadata allows printable ASCII only, and field names may contain anything that a caller wrote. */
const toHeader = (text: string): string => text.slice(0, 256).replace(/[^\x20-\x7e]/g, "?");
