import type { Duplex } from "node:stream";
import { AppError } from "../../../../lib/errors.ts";
import { toHttpError } from "../../status.ts";

const NOT_HTTP = { status: "400 Bad Request", message: "this is not HTTP" };
const NO_REQUEST: Readonly<Record<string, typeof NOT_HTTP>> = {
  HPE_HEADER_OVERFLOW: {
    status: "431 Request Header Fields Too Large",
    message: "the address and headers have too many bytes",
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: "408 Request Timeout",
    message: "the request did not arrive in time",
  },
};

/** Errors before there is a request: it does not arrive in time, or is not HTTP at all. */
export function answerNoRequest(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  const { status, message } = NO_REQUEST[error.code ?? ""] ?? NOT_HTTP;
  const body = JSON.stringify(toHttpError(new AppError("invalid_argument", message)));
  const headers = `Content-Length: ${body.length}\r\nContent-Type: application/json`;
  if (socket.writable) {
    socket.write(`HTTP/1.1 ${status}\r\n${headers}\r\nConnection: close\r\n\r\n${body}`);
  }
  socket.destroy(error);
}
