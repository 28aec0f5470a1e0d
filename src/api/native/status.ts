import type { AppError, ErrorCode } from "../../lib/errors.ts";
import { toMessage } from "../grpc/status.ts";

/** Exhaustive by type: a new code does not compile until HTTP has a status for it. */
const CODES: Readonly<Record<ErrorCode, number>> = {
  invalid_argument: 400,
  unprocessable: 422,
  not_found: 404,
  already_exists: 409,
  unauthenticated: 401,
  permission_denied: 403,
  conflict: 409,
  unschedulable: 422,
  compacted: 410,
  exhausted: 429,
  unavailable: 503,
  internal: 500,
};

export interface HttpError {
  readonly error: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly field?: string;
    /** The revision to resume an ended watch from. */
    readonly revision?: number;
  };
}

export const toHttpStatus = (code: ErrorCode): number => CODES[code];

export function toHttpError(error: AppError): HttpError {
  const { code, field, revision } = error;
  const message = toMessage(error);
  return {
    error: {
      code,
      message,
      ...(field === undefined ? {} : { field }),
      ...(revision === undefined ? {} : { revision }),
    },
  };
}
