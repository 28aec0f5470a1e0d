import { AppError } from "../../lib/errors.ts";
import { GRPC, type GrpcStatus, toGrpcStatus } from "../grpc/status.ts";

/** Those that go-schedule's own server says in these words, and with a code that only it uses. */
const saidByTheOld = new WeakSet<AppError>();

/** Workers log it. The old server counts in nanoseconds. */
export function silentFor(silenceMs: number): AppError {
  const text = `timer for rx of ${silenceMs * 1_000_000} expired`;
  const error = new AppError("unavailable", text);
  saidByTheOld.add(error);
  return error;
}

/**
 * What a failed call answers. The old server answers UNKNOWN whatever went wrong; workers look at
 * no code and schedctl prints it with the text, so that what has a better one gets it.
 */
export function toStatus(error: unknown): GrpcStatus {
  const status = toGrpcStatus(error);
  const isOld = error instanceof AppError && saidByTheOld.has(error);
  return isOld ? { ...status, code: GRPC.UNKNOWN } : status;
}
