import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  type IncomingHttpHeaders,
} from "node:http2";
import { type Address, formatAddress } from "../../lib/address.ts";
import { limits } from "../../limits.ts";
import { CANCEL } from "./call-status.ts";
import type { HttpConnection, HttpStream, HttpStreamEvents } from "./http-stream.ts";
import { streamTo } from "./server-stream.ts";

/** An HTTP/2 connection to a server, open or being opened. The caller may open calls at once. */
export interface Connection extends HttpConnection {
  readonly session: ClientHttp2Session;
  /** Why no further call may be opened; undefined while the connection is usable. */
  readonly failure: Error | undefined;
  /** Bytes received, including those of incomplete messages. */
  bytesReceived(): number;
  /** Closes the connection when its calls have ended, and after a while in any case. */
  close(): void;
}

/** Connects without TLS, through a proxy if the environment names one for this address. */
export function dial(address: Address): Connection {
  const { stream, bytesRead } = streamTo(address);
  const session = connectHttp2(`http://${formatAddress(address)}`, {
    createConnection: () => stream,
    maxSessionMemory: limits.grpcSessionBytesMax / 1_000_000,
    settings: { enablePush: false },
  });
  let failure: Error | undefined;
  session.on("error", (error: Error) => (failure ??= error));
  session.on("goaway", () => (failure ??= new Error("the server is closing the connection")));
  session.on("close", () => (failure ??= new Error("the connection was closed")));
  return {
    session,
    get failure() {
      return failure;
    },
    request: (headers, events) => openStream(session, headers, events, () => failure),
    bytesReceived: bytesRead,
    close() {
      if (session.destroyed || session.closed) return;
      session.close();
      const late = setTimeout(() => session.destroy(), limits.drainMsMax);
      late.unref();
      session.once("close", () => clearTimeout(late));
    },
  };
}

function openStream(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>>,
  events: HttpStreamEvents,
  failure: () => Error | undefined,
): HttpStream {
  const stream: ClientHttp2Stream = session.request(headers);
  let cause: Error | undefined;
  stream.on("response", (answered: IncomingHttpHeaders) => events.onHeaders(answered));
  stream.on("trailers", (trailers: IncomingHttpHeaders) => events.onTrailers(trailers));
  stream.on("data", (chunk: Buffer) => events.onData(chunk));
  stream.on("end", () => events.onDataEnd());
  stream.on("error", (error: Error) => (cause ??= error));
  stream.on("close", () =>
    events.onClose({
      isConnectionGone: session.destroyed,
      resetCode: stream.rstCode,
      cause: failure() ?? unwrapped(cause),
    }),
  );
  return {
    write: (bytes) => {
      if (stream.writable) stream.write(bytes);
    },
    end: () => {
      if (stream.writable) stream.end();
    },
    cancel: () => stream.close(CANCEL),
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
  };
}

/** Node wraps the reason of a connection that never opened into an error that repeats its text. */
function unwrapped(error: Error | undefined): Error | undefined {
  const isWrapped =
    error !== undefined && "code" in error && error.code === "ERR_HTTP2_STREAM_CANCEL";
  return isWrapped && error.cause instanceof Error ? error.cause : error;
}
