import type { Http2SecureServer, Http2Server, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { limits } from "../../../../limits.ts";
import type { Connected, ServerConnection } from "../transport.ts";
import { NodeStream } from "./node-stream.ts";

/** Options of a server of Node's HTTP/2. */
export const NODE_HTTP2 = {
  settings: {
    maxConcurrentStreams: limits.grpcStreamsPerConnectionMax,
    headerTableSize: limits.http2HeaderTableBytes,
  },
  maxSessionMemory: limits.grpcSessionBytesMax / 1_000_000,
} as const;

/** Serves the connections of a server of Node's HTTP/2. */
export function serveNode<Server extends Http2Server | Http2SecureServer>(
  server: Server,
  connected: Connected,
): Server {
  server.on("session", (session: ServerHttp2Session) => {
    const connection = new NodeConnection(session);
    const events = connected(connection, session.socket);
    session.on("stream", (stream, headers) => {
      events.onStream(new NodeStream(stream, connection), headers);
    });
    session.once("close", () => events.onClose());
  });
  return server;
}

class NodeConnection implements ServerConnection {
  readonly #session: ServerHttp2Session;

  constructor(session: ServerHttp2Session) {
    this.#session = session;
  }

  get socket(): Socket | undefined {
    return this.#session.destroyed ? undefined : this.#session.socket;
  }

  ping(answered: (isThere: boolean) => void): void {
    if (this.#session.destroyed) return answered(false);
    try {
      const isSent = this.#session.ping((error: Error | null) => answered(error === null));
      if (!isSent) answered(false);
    } catch {
      answered(false); // it was closed in between
    }
  }

  close(): void {
    this.#session.close();
  }

  destroy(): void {
    this.#session.destroy();
  }

  /** Node bounds the rate of resets itself. */
  abandon(): () => void {
    return () => undefined;
  }
}
