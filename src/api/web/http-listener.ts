import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { formatAddress, parseAddress } from "../../lib/address.ts";
import { limits } from "../../limits.ts";
import { limitConnections } from "../grpc/connections/limit-connections.ts";
import { toListenError } from "../grpc/listen-error.ts";

export interface HttpListener {
  readonly address: string;
  /** Accepts no more requests, lets requests finish, and cuts off those that do not end. */
  close(): Promise<void>;
}

interface ListenerOptions {
  /** "127.0.0.1:8001"; port 0 takes any free one. */
  readonly address: string;
  /** The flag of the address, for errors. */
  readonly flag: string;
  readonly drainMs?: number | undefined;
  readonly serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}

const IDLE_CHECK_MS = 20;

/** A port for HTTP with the limits of all of them. */
export async function listenHttp(options: ListenerOptions): Promise<HttpListener> {
  const { address, flag, drainMs = limits.drainMsMax } = options;
  const { host, port } = parseAddress(address, flag);
  const server = createServer(
    {
      requestTimeout: limits.requestReceiveMsMax,
      headersTimeout: limits.headersReceiveMsMax,
      connectionsCheckingInterval: limits.headersReceiveMsMax / 2,
      keepAliveTimeout: limits.httpKeepAliveMs,
    },
    (request, response) => void options.serve(request, response),
  );
  limitConnections(server);
  try {
    await listen(server, host, port);
  } catch (error) {
    throw toListenError(error, address, flag);
  }
  const bound = server.address();
  const close = async (): Promise<void> => {
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
    const late = setTimeout(() => server.closeAllConnections(), drainMs);
    await new Promise((resolve) => server.close(resolve));
    clearInterval(idle);
    clearTimeout(late);
  };
  let closed: Promise<void> | undefined;
  return {
    address: formatAddress({
      host,
      port: typeof bound === "object" && bound !== null ? bound.port : port,
    }),
    close: () => (closed ??= close()),
  };
}

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: limits.listenBacklogMax }, () => {
      server.off("error", reject);
      resolve();
    });
  });
