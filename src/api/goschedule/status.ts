import { AppError } from "../../lib/errors.ts";
import { GRPC } from "../../lib/grpc/status-codes.ts";
import { type GrpcStatus, toGrpcStatus } from "../grpc/status.ts";

/** Errors that keep the text and the code of go-schedule's own server. */
const goScheduleErrors = new WeakSet<AppError>();

/** Workers log it. go-schedule's own server counts in nanoseconds. */
export function silentFor(silenceMs: number): AppError {
  const text = `timer for rx of ${silenceMs * 1_000_000} expired`;
  const error = new AppError("unavailable", text);
  goScheduleErrors.add(error);
  return error;
}

/**
 * The status of a failed call. go-schedule's own server answers UNKNOWN whatever went wrong; workers
 * ignore the code and schedctl prints it with the text, so other errors get a code that fits.
 */
export function toStatus(error: unknown): GrpcStatus {
  const status = toGrpcStatus(error);
  const keepsCode = error instanceof AppError && goScheduleErrors.has(error);
  return keepsCode ? { ...status, code: GRPC.UNKNOWN } : status;
}
