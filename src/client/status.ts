import { type Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { AppError, type ErrorCode } from "../lib/errors.ts";

/**
 * Trailing metadata in which the server repeats its own code and the field at fault. Their presence
 * also tells an answer of the server from one that grpc-js made up because nobody answered.
 */
export const CODE_KEY = "busbar-code";
export const FIELD_KEY = "busbar-field";
/** Where a watch that ended can be resumed. */
const REVISION_KEY = "busbar-revision";

/** Total over gRPC's codes: what is not here is a mistake of ours or of something in between. */
const CODES: Readonly<Partial<Record<status, ErrorCode>>> = {
  [status.INVALID_ARGUMENT]: "invalid_argument",
  [status.NOT_FOUND]: "not_found",
  [status.ALREADY_EXISTS]: "already_exists",
  [status.PERMISSION_DENIED]: "permission_denied",
  [status.UNAUTHENTICATED]: "permission_denied",
  [status.FAILED_PRECONDITION]: "conflict",
  [status.ABORTED]: "conflict",
  [status.OUT_OF_RANGE]: "compacted",
  [status.RESOURCE_EXHAUSTED]: "exhausted",
  [status.UNAVAILABLE]: "unavailable",
  [status.DEADLINE_EXCEEDED]: "unavailable",
};

/** gRPC has one word for this and for conflict. */
const UNSCHEDULABLE: ErrorCode = "unschedulable";

/** A failed call as an AppError. What the wire said stays its cause. */
export function fromServiceError(error: ServiceError, server: string): AppError {
  const code = ownCode(error) ?? CODES[error.code] ?? "internal";
  const field = textOf(error.metadata, FIELD_KEY);
  const revision = textOf(error.metadata, REVISION_KEY);
  return AppError.received(code, messageOf(error, server), {
    cause: error,
    field,
    revision: revision === undefined ? undefined : Number(revision),
  });
}

/** The server's own word, which may tell more than gRPC's; one from the future is not used. */
function ownCode(error: ServiceError): ErrorCode | undefined {
  const own = textOf(error.metadata, CODE_KEY);
  return [...Object.values(CODES), UNSCHEDULABLE].find((code) => code === own);
}

function messageOf(error: ServiceError, server: string): string {
  const answered = textOf(error.metadata, CODE_KEY) !== undefined;
  if (error.code === status.DEADLINE_EXCEEDED) {
    return `no answer in time; is busbar running at ${server}? start it with \`busbar up\``;
  }
  if (error.code === status.UNAVAILABLE && !answered) {
    return `no connection; is busbar running at ${server}? start it with \`busbar up\``;
  }
  if (error.code === status.UNIMPLEMENTED && !answered) {
    return `what listens at ${server} does not speak busbar's API of this version`;
  }
  return error.details === "" ? `the call failed with gRPC status ${error.code}` : error.details;
}

function textOf(metadata: Metadata | undefined, key: string): string | undefined {
  const value = metadata?.get(key)[0];
  return value === undefined || value === "" ? undefined : value.toString();
}

export const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && "code" in error && typeof error.code === "number" && "details" in error;
