import {
  createSecureServer,
  createServer,
  performServerHandshake,
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
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
  memoryOf,
} from "./memory/call-memory.ts";
import { rememberSocket } from "./connection-socket.ts";
import { byAddress, type Identify } from "./identify.ts";
import { Keepalive, type KeepaliveTimes } from "./keepalive.ts";
import { listen, type Listener } from "./listener.ts";
import { addressOf } from "./peer-address.ts";
import { byFirstByte, secureOptions, type TlsFiles } from "./first-byte.ts";
import type { GrpcService, Serve } from "./service.ts";
import { withUserParts } from "./user-part/user-part-stream.ts";
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
   * Whether `:authority` may have a user part, which becomes Basic authentication. It costs each connection a second parser, and works
   * without encryption only.
   */
  readonly readsUserParts?: boolean;
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
  const sessions = new Set<ServerHttp2Session>();
  const keepalive = new Keepalive(options.keepalive);
  const find = (path: string): Serve | undefined => byPath.get(path);
  const { memory = createCallMemory(), identify = byAddress } = options;
  const serving = servingOf({ find, sessions, keepalive, memory, identify });
  const { address, flag = "--grpc" } = options;
  const listener = await listen({ address, flag }, accepting(options, serving));
  let closed: Promise<void> | undefined;
  return {
    address: listener.address,
    setServing: (isServing) => health.setServing(isServing),
    close: () => {
      keepalive.stop();
      return (closed ??= close({ ...options, services, sessions, health, listener }));
    },
  };
}

type Find = (path: string) => Serve | undefined;

const HTTP2 = {
  settings: {
    maxConcurrentStreams: limits.grpcStreamsPerConnectionMax,
    headerTableSize: limits.http2HeaderTableBytes,
  },
  maxSessionMemory: limits.grpcSessionBytesMax / 1_000_000,
} as const;

/** How the server handles connections and requests. */
interface Serving {
  session(session: ServerHttp2Session, socket: Socket): void;
  stream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void;
}

/** Accepts new connections. Throws AppError when certificates are unusable. */
function accepting(
  { tls, readsUserParts = false }: Pick<GrpcServerOptions, "tls" | "readsUserParts">,
  serving: Serving,
): (socket: Socket) => void {
  const serve = <Server extends Http2Server | Http2SecureServer>(http2: Server): Server => {
    http2.on("stream", (stream, headers) => serving.stream(stream, headers));
    http2.on("session", (session) => serving.session(session, session.socket as Socket));
    return http2;
  };
  if (tls === undefined && readsUserParts) return withUserPartsTo(serving);
  if (tls === undefined) {
    const plain = serve(createServer(HTTP2));
    return (socket) => plain.emit("connection", socket);
  }
  const secure = serve(createSecureServer({ ...HTTP2, ...secureOptions(tls) }));
  // Tunnels that encrypt for programs without TLS negotiate no protocol. This port has only one.
  secure.prependListener("secureConnection", (socket: TLSSocket) => {
    if (socket.alpnProtocol === false) socket.alpnProtocol = "h2";
  });
  const plain = tls.allowsPlaintext ? serve(createServer(HTTP2)) : undefined;
  return byFirstByte({
    secure: (socket) => secure.emit("connection", socket),
    plain: (socket) => (plain === undefined ? socket.destroy() : plain.emit("connection", socket)),
  });
}

const withUserPartsTo =
  (serving: Serving) =>
  (socket: Socket): void => {
    const session = performServerHandshake(withUserParts(socket), HTTP2);
    rememberSocket(session, socket);
    session.on("error", () => undefined); // "close" follows
    session.on("stream", (stream, headers) => serving.stream(stream, headers));
    serving.session(session, socket);
  };

function servingOf({
  find,
  sessions,
  keepalive,
  memory,
  identify,
}: {
  readonly find: Find;
  readonly sessions: Set<ServerHttp2Session>;
  readonly keepalive: Keepalive;
  readonly memory: CallMemory;
  readonly identify: Identify;
}): Serving {
  const connectionOf = memoryOf(memory);
  const addresses = new WeakMap<object, string | undefined>();
  return {
    stream(stream, headers) {
      const connection = stream.session ?? stream;
      const call = openCall(stream, headers, connectionOf(connection));
      if (call === undefined) return;
      const address = addresses.get(connection);
      const serve = find(headers[":path"] ?? "") ?? refuseUnknown;
      const isKnown = refusing(call, () => (call.principal = identify({ address, headers })));
      if (isKnown) serve(call);
    },
    session(session, socket) {
      // Read now: a closed connection has no address, and its earlier requests still get answers.
      addresses.set(session, addressOf(`${socket.remoteAddress}:`));
      sessions.add(session);
      session.once("close", () => sessions.delete(session));
      keepalive.watch(session);
    },
  };
}

/** Undefined: it is not a call, and rejected. */
function openCall(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  memory: ConnectionMemory,
): GrpcCall | undefined {
  if (headers["content-type"]?.startsWith("application/grpc") !== true) {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 415 }, { endStream: true });
    stream.resume();
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
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  readonly health: HealthChecks;
  readonly listener: Listener;
}

async function close({ sessions, health, listener, services, logger, ...rest }: Closing) {
  const drainMs = rest.drainMs ?? limits.drainMsMax;
  const stopped = listener.stop();
  const late = setTimeout(() => {
    logger.warn({ drainMs }, "gRPC streams did not end in time and are cut off");
    for (const session of sessions) session.destroy();
    listener.destroyConnections();
  }, drainMs);
  health.setServing(false);
  const reason = new AppError("unavailable", "the server is stopping; try again soon");
  for (const service of services) service.endStreams(reason);
  for (const session of sessions) session.close();
  await stopped;
  clearTimeout(late);
}
