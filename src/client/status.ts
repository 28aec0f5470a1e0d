import type { IncomingHttpHeaders } from "node:http2";
import { GRPC_PORT, REST_PORT } from "../lib/address.ts";
import { AppError, type ErrorCode } from "../lib/errors.ts";
import { GRPC } from "../lib/grpc/status-codes.ts";
import type { CallError } from "./grpc/call-error.ts";

/**
 * Trailing metadata in which the server repeats its own code and the wrong field. It also distinguishes an answer of the server from an
 * error that this client made because no server answered.
 */
export const CODE_KEY = "busbar-code";
export const FIELD_KEY = "busbar-field";
/** The revision to resume an ended watch from. */
const REVISION_KEY = "busbar-revision";

/** Covers all codes of gRPC: any other code is a fault of Busbar or of a proxy in between. */
const CODES: Readonly<Partial<Record<number, ErrorCode>>> = {
  [GRPC.INVALID_ARGUMENT]: "invalid_argument",
  [GRPC.NOT_FOUND]: "not_found",
  [GRPC.ALREADY_EXISTS]: "already_exists",
  [GRPC.PERMISSION_DENIED]: "permission_denied",
  [GRPC.UNAUTHENTICATED]: "unauthenticated",
  [GRPC.FAILED_PRECONDITION]: "conflict",
  [GRPC.ABORTED]: "conflict",
  [GRPC.OUT_OF_RANGE]: "compacted",
  [GRPC.RESOURCE_EXHAUSTED]: "exhausted",
  [GRPC.UNAVAILABLE]: "unavailable",
  [GRPC.DEADLINE_EXCEEDED]: "unavailable",
};

/** gRPC has one code for each of these pairs. */
const FINER: readonly ErrorCode[] = ["unschedulable", "unprocessable"];

/** A failed call as an AppError, with the gRPC error as its cause. */
export function fromCallError(error: CallError, server: string): AppError {
  const code = ownCode(error) ?? CODES[error.code] ?? "internal";
  const field = textOf(error.metadata, FIELD_KEY);
  const revision = textOf(error.metadata, REVISION_KEY);
  return AppError.received(code, messageOf(error, server), {
    cause: error,
    field,
    revision: revision === undefined ? undefined : Number(revision),
  });
}

/** The server's own code, which may be more precise than gRPC's; a code from a newer version is ignored. */
function ownCode(error: CallError): ErrorCode | undefined {
  const own = textOf(error.metadata, CODE_KEY);
  return [...Object.values(CODES), ...FINER].find((code) => code === own);
}

function messageOf(error: CallError, server: string): string {
  const answered = textOf(error.metadata, CODE_KEY) !== undefined;
  if (error.code === GRPC.DEADLINE_EXCEEDED) {
    return `no answer in time; is busbar running at ${server}? start it with \`busbar up\``;
  }
  if (error.code === GRPC.UNAVAILABLE && !answered && isOtherProtocol(error.cause)) {
    return wrongPort(server);
  }
  if (error.code === GRPC.UNAVAILABLE && !answered) {
    return `no connection; is busbar running at ${server}? start it with \`busbar up\``;
  }
  if (error.code === GRPC.UNIMPLEMENTED && !answered) {
    return `the program at ${server} does not serve this version of Busbar's API`;
  }
  return error.details === "" ? `the call failed with gRPC status ${error.code}` : error.details;
}

/** Users often mistake the REST port for the gRPC port: by default they are neighbours. */
export function wrongPort(server: string): string {
  const isRest = server.endsWith(`:${REST_PORT}`);
  const right = isRest ? server.replace(/\d+$/, String(GRPC_PORT)) : "with its gRPC address";
  return (
    `${server} answers, but not with gRPC; \`busbar up\` prints two ports: ` +
    `REST (${REST_PORT}) for browsers and curl, gRPC (${GRPC_PORT}) for this; write --server ${right}`
  );
}

/** The bytes are not HTTP/2: this is the port of another server, like REST. */
export const isOtherProtocol = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ERR_HTTP2_ERROR";

function textOf(metadata: IncomingHttpHeaders, key: string): string | undefined {
  const value = metadata[key]?.toString();
  return value === "" ? undefined : value;
}
