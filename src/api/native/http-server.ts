import { fastify } from "fastify";
import { formatAddress, isLoopback, parseAddress } from "../../lib/address.ts";
import { limits } from "../../limits.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Operations } from "../../server/operations.ts";
import { addDocs } from "./http/docs.ts";
import { addHooks } from "./http/hooks.ts";
import { type HttpHost, OpenStreams } from "./http/host.ts";
import { acceptJson } from "./http/json-body.ts";
import { answerFailures, answerHttpMistakes } from "./http/answer-failures.ts";
import { addRoutes } from "./http/routes.ts";
import type { App } from "./http/typebox-provider.ts";
import { toListenError } from "./listen-error.ts";
import { createTraffic, type Traffic } from "./traffic.ts";

export interface HttpServerOptions {
  readonly operations: Operations;
  /** Where to listen: "127.0.0.1:7070"; port 0 takes any that is free. */
  readonly address: string;
  readonly logger: Logger;
  readonly version: string;
  /** Shared with other doors, so that /metrics shows all of them. */
  readonly traffic?: Traffic;
  /** How long open connections may take to end before they are cut off. */
  readonly drainMs?: number;
  /** Between two signs of life in a watch. */
  readonly heartbeatMs?: number;
}

export interface HttpServer {
  readonly address: string;
  /** Takes no more requests, lets requests finish, ends streams, and cuts off what does not end. */
  close(): Promise<void>;
}

const IDLE_CHECK_MS = 20;

/** Serves the REST API, its documentation, metrics and health. */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { operations, logger, version, traffic = createTraffic() } = options;
  const { host, port } = parseAddress(options.address, "--http");
  const shared: HttpHost = { operations, logger, traffic, streams: new OpenStreams() };
  const app = createApp();
  app.server.maxConnections = limits.connectionsMax;
  acceptJson(app);
  addHooks(app, shared, { listensOnLoopback: isLoopback(host) });
  answerFailures(app, shared);
  await addDocs(app, version);
  addRoutes(app, shared, options.heartbeatMs ?? limits.sseHeartbeatIntervalMs);
  try {
    await app.listen({ host, port });
  } catch (error) {
    await app.close();
    throw toListenError(error, options.address, "--http");
  }
  let closed: Promise<void> | undefined;
  return {
    address: formatAddress({ host, port: boundPort(app) ?? port }),
    close: () => (closed ??= close(app, shared, options.drainMs ?? limits.drainMsMax)),
  };
}

function boundPort(app: App): number | undefined {
  const at = app.server.address();
  return typeof at === "object" && at !== null ? at.port : undefined;
}

const createApp = (): App =>
  fastify({
    bodyLimit: limits.messageBytesMax,
    requestTimeout: limits.requestReceiveMsMax,
    routerOptions: { maxParamLength: limits.pathParameterCharsMax },
    // Bodies mean what they say: nothing is dropped, converted or filled in.
    ajv: {
      customOptions: {
        removeAdditional: false,
        coerceTypes: false,
        useDefaults: false,
        allErrors: false,
        verbose: true,
        allowUnionTypes: true,
      },
    },
    // A hook of ours does it, in our own words.
    return503OnClosing: false,
    ...answerHttpMistakes,
  })
    // Views are sent as they are; the schemas describe them and must not leave anything out.
    .setSerializerCompiler(() => (value) => JSON.stringify(value));

async function close(app: App, { streams, logger }: HttpHost, drainMs: number): Promise<void> {
  // Connections that become idle only now would be kept for their next request.
  const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_CHECK_MS);
  const late = setTimeout(() => {
    logger.warn({ drainMs }, "HTTP connections did not end in time and are cut off");
    app.server.closeAllConnections();
  }, drainMs);
  streams.close();
  await app.close();
  clearInterval(idle);
  clearTimeout(late);
}
