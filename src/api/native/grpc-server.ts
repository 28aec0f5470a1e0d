import { Server } from "@grpc/grpc-js";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Logger } from "../../ports/logger.ts";
import { addExtras, type Extras } from "./grpc-extras.ts";
import { listen, type Listener } from "./grpc-listener.ts";
import type { GrpcService } from "./grpc-service.ts";

export interface GrpcServerOptions {
  /** Where to listen: "127.0.0.1:7071"; port 0 takes any that is free. */
  readonly address: string;
  readonly services: readonly GrpcService[];
  readonly logger: Logger;
  /** How long streams may take to end before they are cut off. */
  readonly drainMs?: number;
}

export interface GrpcServer {
  readonly address: string;
  /** What health checks answer; serving from the start. */
  setServing(isServing: boolean): void;
  /** Takes no more calls, lets calls finish, asks streams to end, and cuts off what does not. */
  close(): Promise<void>;
}

/** Serves services over gRPC, with health checks and reflection. */
export async function createGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const server = new Server({
    "grpc.max_receive_message_length": limits.messageBytesMax,
    "grpc.max_send_message_length": limits.messageBytesMax,
    "grpc.max_concurrent_streams": limits.grpcStreamsPerConnectionMax,
    // Finds connections whose other end is gone without a word. Pings of clients are answered
    // however often they come: grpc-js never takes offence.
    "grpc.keepalive_time_ms": limits.grpcKeepaliveIntervalMs,
    "grpc.keepalive_timeout_ms": limits.grpcKeepaliveTimeoutMs,
    // Counts every call and message for a debugging protocol that is not served.
    "grpc.enable_channelz": 0,
  });
  for (const { definition, implementation } of options.services) {
    server.addService(definition, implementation);
  }
  const extras = addExtras(server, options.services);
  const listener = await listen(server, options.address);
  let closed: Promise<void> | undefined;
  return {
    address: listener.address,
    setServing: (isServing) => extras.setServing(isServing),
    close: () => (closed ??= close({ ...options, server, extras, listener })),
  };
}

interface Closing extends GrpcServerOptions {
  readonly server: Server;
  readonly extras: Extras;
  readonly listener: Listener;
}

async function close({ server, extras, listener, services, logger, ...rest }: Closing) {
  const drainMs = rest.drainMs ?? limits.drainMsMax;
  const stopped = listener.stop();
  const late = setTimeout(() => {
    logger.warn({ drainMs }, "gRPC streams did not end in time and are cut off");
    server.forceShutdown();
    listener.destroyConnections();
  }, drainMs);
  extras.setServing(false);
  extras.endStreams();
  const reason = new AppError("unavailable", "the server is stopping; try again soon");
  for (const service of services) service.endStreams(reason);
  server.tryShutdown(() => undefined);
  await stopped;
  clearTimeout(late);
  server.forceShutdown();
}
