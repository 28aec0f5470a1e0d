import { createSecureServer, createServer, type IncomingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Logger } from "../../ports/logger.ts";
import type { HealthChecks } from "./builtin/health.ts";
import { withBuiltin } from "./builtin/with-builtin.ts";
import { GrpcCall } from "./calls/call.ts";
import {
  type CallMemory,
  type ConnectionMemory,
  createCallMemory,
  openConnectionMemory,
} from "./memory/call-memory.ts";
import { HeaderList } from "./http2/header-list.ts";
import { NODE_HTTP2, serveNode } from "./http2/node/node-connection.ts";
import { OwnConnection } from "./http2/own/connection.ts";
import type { Connected, ServerConnection, RequestStream } from "./http2/transport.ts";
import { byAddress, type Identify } from "./identify.ts";
import { Keepalive, type KeepaliveTimes } from "./keepalive.ts";
import { listen, type Listener } from "./listener.ts";
import { addressOf } from "./peer-address.ts";
import { byFirstByte, secureOptions, type TlsFiles } from "./first-byte.ts";
import type { GrpcService, Serve } from "./service.ts";
import { GRPC } from "../../lib/grpc/status-codes.ts";

export interface GrpcServerOptions {
  /** The address to listen on: "127.0.0.1:7071"; port 0 takes any free one. */
  readonly address: string;
  /** The flag of the address; absent: --grpc. */
  readonly flag?: string;
  readonly services: readonly GrpcService[];
  /** Identifies callers; absent: by the address of the connection. */
  readonly identify?: Identify | undefined;
  /** Absent: without encryption. */
  readonly tls?: TlsFiles & {
    /** Whether callers may also connect without it, on the same port. */
    readonly allowsPlaintext: boolean;
  };
  /**
   * Whether `:authority` may have a user part, which becomes Basic authentication. It works without encryption only.
   */
  readonly readsUserParts?: boolean;
  /** The HTTP/2 of connections without encryption; absent: our own. Tests compare both. */
  readonly plaintext?: "own" | "node";
  readonly logger: Logger;
  /** Shared with other doors; absent: its own. */
  readonly memory?: CallMemory | undefined;
  /** How long streams may take to end before they are cut off. */
  readonly drainMs?: number;
  readonly keepalive?: KeepaliveTimes;
}

export interface GrpcServer {
  readonly address: string;
  /** The answer of health checks; serving from the start. */
  setServing(isServing: boolean): void;
  /** Accepts no more calls, lets calls finish, asks streams to end, and cuts off those that do not. */
  close(): Promise<void>;
}

/** Serves services over gRPC, with health checks and reflection. */
export async function createGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { health, services } = withBuiltin(options.services, options.logger);
  const byPath = new Map<string, Serve>();
  for (const service of services) {
    for (const [path, serve] of service.byPath) byPath.set(path, serve);
  }
  const connections = new Set<ServerConnection>();
  const keepalive = new Keepalive(options.keepalive);
  const find = (path: string): Serve | undefined => byPath.get(path);
  const { memory = createCallMemory(), identify = byAddress } = options;
  const serving = servingOf({ find, connections, keepalive, memory, identify });
  const { address, flag = "--grpc" } = options;
  const listener = await listen({ address, flag }, accepting(options, serving));
  let closed: Promise<void> | undefined;
  return {
    address: listener.address,
    setServing: (isServing) => health.setServing(isServing),
    close: () => {
      keepalive.stop();
      return (closed ??= close({ ...options, services, connections, health, listener }));
    },
  };
}

type Find = (path: string) => Serve | undefined;

/** Accepts new connections. Throws AppError when certificates are unusable. */
function accepting(
  { tls, plaintext = "own", readsUserParts = false }: GrpcServerOptions,
  connected: Connected,
): (socket: Socket) => void {
  const plain = plaintext === "own" ? acceptOwn(connected, readsUserParts) : acceptNode(connected);
  if (tls === undefined) return plain;
  const secure = serveNode(createSecureServer({ ...NODE_HTTP2, ...secureOptions(tls) }), connected);
  // Tunnels that encrypt for programs without TLS negotiate no protocol. This port has only one.
  secure.prependListener("secureConnection", (socket: TLSSocket) => {
    if (socket.alpnProtocol === false) socket.alpnProtocol = "h2";
  });
  return byFirstByte({
    secure: (socket) => secure.emit("connection", socket),
    plain: (socket) => (tls.allowsPlaintext ? plain(socket) : socket.destroy()),
  });
}

const acceptOwn =
  (connected: Connected, readsUserParts: boolean) =>
  (socket: Socket): void =>
    void new OwnConnection(socket, connected, readsUserParts);

function acceptNode(connected: Connected): (socket: Socket) => void {
  const server = serveNode(createServer(NODE_HTTP2), connected);
  return (socket) => server.emit("connection", socket);
}

function servingOf({
  find,
  connections,
  keepalive,
  memory,
  identify,
}: {
  readonly find: Find;
  readonly connections: Set<ServerConnection>;
  readonly keepalive: Keepalive;
  readonly memory: CallMemory;
  readonly identify: Identify;
}): Connected {
  return (connection, socket) => {
    // Read now: a closed connection has no address, and its earlier requests still get answers.
    const address = addressOf(`${socket.remoteAddress}:`);
    const memoryHere = openConnectionMemory(memory);
    connections.add(connection);
    keepalive.watch(connection);
    return {
      onStream(stream, headers) {
        const call = openCall(stream, headers, memoryHere);
        if (call === undefined) return;
        const serve = find(headers[":path"] ?? "") ?? refuseUnknown;
        const isKnown = refusing(call, () => (call.principal = identify({ address, headers })));
        if (isKnown) serve(call);
      },
      onClose() {
        connections.delete(connection);
        keepalive.forget(connection);
      },
    };
  };
}

const UNSUPPORTED_MEDIA_TYPE = new HeaderList({ ":status": 415 });

/** Undefined: it is not a call, and rejected. */
function openCall(
  stream: RequestStream,
  headers: IncomingHttpHeaders,
  memory: ConnectionMemory,
): GrpcCall | undefined {
  if (headers["content-type"]?.startsWith("application/grpc") !== true) {
    stream.respondOnly(UNSUPPORTED_MEDIA_TYPE);
    return undefined;
  }
  return new GrpcCall(stream, headers, memory);
}

/** Whether it threw nothing; otherwise the call is rejected. */
function refusing(call: GrpcCall, run: () => void): boolean {
  try {
    run();
    return true;
  } catch (error) {
    call.start({ message: nothing, finished: nothing, closed: nothing });
    call.fail(error);
    return false;
  }
}

const nothing = (): void => undefined;

function refuseUnknown(call: GrpcCall): void {
  call.start({ message: nothing, finished: nothing, closed: nothing });
  const details = `there is no method ${call.headers[":path"]}`;
  call.refuse({ code: GRPC.UNIMPLEMENTED, details, metadata: {} });
}

interface Closing extends GrpcServerOptions {
  readonly connections: ReadonlySet<ServerConnection>;
  readonly health: HealthChecks;
  readonly listener: Listener;
}

async function close({ connections, health, listener, services, logger, ...rest }: Closing) {
  const drainMs = rest.drainMs ?? limits.drainMsMax;
  const stopped = listener.stop();
  const late = setTimeout(() => {
    logger.warn({ drainMs }, "gRPC streams did not end in time and are cut off");
    for (const connection of connections) connection.destroy();
    listener.destroyConnections();
  }, drainMs);
  health.setServing(false);
  const reason = new AppError("unavailable", "the server is stopping; try again soon");
  for (const service of services) service.endStreams(reason);
  for (const connection of connections) connection.close();
  await stopped;
  clearTimeout(late);
}
