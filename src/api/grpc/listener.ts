import { createServer, type Server as NetServer, type Socket } from "node:net";
import { formatAddress, parseAddress } from "../../lib/address.ts";
import { limits } from "../../limits.ts";
import { limitConnections } from "./connections/limit-connections.ts";
import { toListenError } from "./listen-error.ts";

export interface Listener {
  /** The actual address: with the free port that was chosen for 0. */
  readonly address: string;
  /** Accepts no more connections; resolves when the existing ones have ended. */
  stop(): Promise<void>;
  /** Ends all connections at once. */
  destroyConnections(): void;
}

/** The address to listen on, and its flag. */
export interface ListenAt {
  readonly address: string;
  readonly flag: string;
}

// The kernel probes idle connections itself, at no cost to us: it detects a vanished machine within 20 s, however rarely its agent sends
// heartbeats.
const SOCKETS = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: limits.tcpKeepaliveIdleMs,
} as const;

/** Listens, and passes on every connection. */
export async function listen(
  { address, flag }: ListenAt,
  onConnection: (socket: Socket) => void,
): Promise<Listener> {
  const { host, port } = parseAddress(address, flag);
  const sockets = new Set<Socket>();
  const listener = createServer(SOCKETS, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    onConnection(socket);
  });
  limitConnections(listener);
  await bound(listener, { host, port }, { address, flag });
  return {
    address: formatAddress({ host, port: boundPort(listener) ?? port }),
    stop: () => new Promise((resolve) => listener.close(() => resolve())),
    destroyConnections() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

const bound = (
  listener: NetServer,
  at: { readonly host: string; readonly port: number },
  { address, flag }: ListenAt,
): Promise<void> =>
  new Promise((resolve, reject) => {
    listener.once("error", (error) => reject(toListenError(error, address, flag)));
    listener.listen({ ...at, backlog: limits.listenBacklogMax }, () => {
      listener.removeAllListeners("error");
      // A later accept error (no more file descriptors) must not end the process.
      listener.on("error", () => undefined);
      resolve();
    });
  });

function boundPort(listener: NetServer): number | undefined {
  const at = listener.address();
  return typeof at === "object" && at !== null ? at.port : undefined;
}
