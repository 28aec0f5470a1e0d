import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { formatAddress, parseAddress } from "../../../lib/address.ts";
import { describeChain } from "../../../lib/errors.ts";
import { Lazy } from "../../../lib/lazy.ts";
import { limits } from "../../../limits.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { OperationsAccess } from "../../../server/operations/operations.ts";
import type { GraphqlDoor } from "../graphql/routes.ts";
import { answerNoRequest } from "./guards/answer-no-request.ts";
import { type HttpHost, OpenStreams } from "./guards/host.ts";
import type { App } from "./schemas/typebox-provider.ts";
import { limitConnections } from "../../grpc/connections/limit-connections.ts";
import { byAddress, type Identify } from "../../grpc/identify.ts";
import { toListenError } from "../../grpc/listen-error.ts";
import { type CallMemory, createCallMemory } from "../../grpc/memory/call-memory.ts";
import { createTraffic, type Traffic } from "../../grpc/traffic.ts";

export interface HttpServerOptions {
  readonly operations: OperationsAccess;
  /** Identifies callers; absent: by the address of the connection. */
  readonly identify?: Identify | undefined;
  /** The address to listen on: "127.0.0.1:7070"; port 0 takes any free one. */
  readonly address: string;
  /** Additional host names of this server. */
  readonly hostNames?: readonly string[] | undefined;
  readonly logger: Logger;
  readonly version: string;
  /** Shared with other doors, so that /metrics shows all of them. */
  readonly traffic?: Traffic;
  /** Shared with other doors; absent: its own. */
  readonly memory?: CallMemory | undefined;
  /** How long open connections may take to end before they are cut off. */
  readonly drainMs?: number;
  /** The time between two signs of life in a watch. */
  readonly heartbeatMs?: number;
  /** Additions of other doors to the schema of GraphQL; loaded with the first request for it. */
  readonly graphqlExtensions?: GraphqlDoor["extend"];
}

export interface HttpServer {
  readonly address: string;
  /** Accepts no more requests, lets requests finish, ends streams, and cuts off those that do not end. */
  close(): Promise<void>;
}

const IDLE_CHECK_MS = 20;

/**
 * Serves the REST API, its documentation, metrics and health. The first request loads the code: its libraries take longer to load, and more
 * memory, than the rest of the server, and many servers are used only over gRPC.
 */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { operations, logger, version, traffic = createTraffic() } = options;
  const { memory = createCallMemory(), identify = byAddress } = options;
  const { host, port } = parseAddress(options.address, "--http");
  const streams = new OpenStreams();
  const shared: HttpHost = { operations, identify, logger, traffic, memory, streams };
  const app = new Lazy(async () => {
    const { createApp } = await import("./app.ts");
    return createApp(shared, {
      version,
      names: { listenHost: host, hostNames: options.hostNames ?? [] },
      heartbeatMs: options.heartbeatMs ?? limits.sseHeartbeatIntervalMs,
      extend: options.graphqlExtensions ?? [],
    });
  });
  const server = createServer(
    {
      requestTimeout: limits.requestReceiveMsMax,
      headersTimeout: limits.headersReceiveMsMax,
      connectionsCheckingInterval: limits.headersReceiveMsMax / 2,
      keepAliveTimeout: limits.httpKeepAliveMs,
    },
    (request, response) => void answer(app, logger, { request, response }),
  );
  limitConnections(server);
  server.on("clientError", answerNoRequest);
  // Reading it now makes the socket remember it: a connection that closes later needs its address too.
  server.on("connection", ({ remoteAddress }) => remoteAddress);
  try {
    await listen(server, host, port);
  } catch (error) {
    throw toListenError(error, options.address, "--http");
  }
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await closeServer(server, shared, options.drainMs ?? limits.drainMsMax);
    await (await app.peek())?.close();
  };
  return {
    address: formatAddress({ host, port: boundPort(server) ?? port }),
    close: () => (closed ??= close()),
  };
}

async function answer(
  app: Lazy<App>,
  logger: Logger,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> {
  try {
    (await app.get()).routing(request, response);
  } catch (error) {
    logger.error({ error: describeChain(error) }, "could not answer an HTTP request");
    response.destroy();
  }
}

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: limits.listenBacklogMax }, () => {
      server.off("error", reject);
      resolve();
    });
  });

function boundPort(server: Server): number | undefined {
  const at = server.address();
  return typeof at === "object" && at !== null ? at.port : undefined;
}

async function closeServer(server: Server, { streams, logger }: HttpHost, drainMs: number) {
  // Connections that become idle only now would be kept for their next request.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const late = setTimeout(() => {
    logger.warn({ drainMs }, "HTTP connections did not end in time and are cut off");
    server.closeAllConnections();
  }, drainMs);
  streams.close();
  await new Promise((resolve) => server.close(resolve));
  clearInterval(idle);
  clearTimeout(late);
}
