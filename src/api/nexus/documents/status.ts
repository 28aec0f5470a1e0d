import { type AppError, type ErrorCode } from "../../../lib/errors.ts";
import { toMessage } from "../../grpc/status.ts";

/** An error in the form of Kubernetes: client libraries read `code` and `reason`. */
export interface ApiFailure {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details?: object;
}

/** Exhaustive by type. `unschedulable` and bad values are Invalid in Kubernetes. */
const REASONS: Readonly<Record<ErrorCode, readonly [code: number, reason: string]>> = {
  invalid_argument: [400, "BadRequest"],
  unprocessable: [422, "Invalid"],
  not_found: [404, "NotFound"],
  already_exists: [409, "AlreadyExists"],
  unauthenticated: [401, "Unauthorized"],
  permission_denied: [403, "Forbidden"],
  conflict: [409, "Conflict"],
  unschedulable: [422, "Invalid"],
  compacted: [410, "Expired"],
  exhausted: [429, "TooManyRequests"],
  unavailable: [503, "ServiceUnavailable"],
  internal: [500, "InternalError"],
};

const RETRY_AFTER_SECONDS = 1;

/** The object that a request names: kubectl prints it in an error. */
export interface AboutObject {
  readonly group: string;
  readonly kind: string;
  readonly name: string | undefined;
}

export function toFailure(error: AppError, about?: AboutObject): ApiFailure {
  const [code, reason] = REASONS[error.code];
  const { field } = error;
  const causes =
    field === undefined || field === "" ? {} : { causes: [{ message: error.problem, field }] };
  const retry = code === 429 || code === 503 ? { retryAfterSeconds: RETRY_AFTER_SECONDS } : {};
  return { code, reason, message: toMessage(error), details: { ...about, ...causes, ...retry } };
}

export const toStatus = ({ code, reason, message, details }: ApiFailure): object => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message,
  reason,
  ...(details === undefined ? {} : { details }),
  code,
});

export const success = (details: object): object => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  details,
});
