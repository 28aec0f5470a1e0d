import { limits } from "../../limits.ts";
import type { ServerConnection } from "./http2/transport.ts";

export interface KeepaliveTimes {
  /** How long a connection may send nothing before the server pings it. */
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

const DEFAULT: KeepaliveTimes = {
  intervalMs: limits.grpcKeepaliveIntervalMs,
  timeoutMs: limits.grpcKeepaliveTimeoutMs,
};

const LOOKS_PER_INTERVAL = 3;

interface Heard {
  bytesRead: number;
  /** How many checks ago something was received. */
  quietLooks: number;
  timeout: NodeJS.Timeout | undefined;
}

/**
 * Finds connections whose other end vanished silently. One timer checks all of them, and only those that have sent nothing for a while are
 * pinged. Otherwise 10,000 agents would need a timer and pings each.
 */
export class Keepalive {
  readonly #timeoutMs: number;
  readonly #connections = new Map<ServerConnection, Heard>();
  readonly #timer: NodeJS.Timeout;

  constructor({ intervalMs, timeoutMs }: KeepaliveTimes = DEFAULT) {
    this.#timeoutMs = timeoutMs;
    this.#timer = setInterval(() => this.#look(), intervalMs / LOOKS_PER_INTERVAL).unref();
  }

  watch(connection: ServerConnection): void {
    this.#connections.set(connection, { bytesRead: 0, quietLooks: 0, timeout: undefined });
  }

  forget(connection: ServerConnection): void {
    clearTimeout(this.#connections.get(connection)?.timeout);
    this.#connections.delete(connection);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const [connection, heard] of this.#connections) {
      const bytesRead = connection.socket?.bytesRead ?? 0;
      if (bytesRead !== heard.bytesRead) {
        heard.bytesRead = bytesRead;
        heard.quietLooks = 0;
      } else if (++heard.quietLooks >= LOOKS_PER_INTERVAL) this.#ping(connection, heard);
    }
  }

  #ping(connection: ServerConnection, heard: Heard): void {
    if (connection.socket === undefined || heard.timeout !== undefined) return;
    const { bytesRead } = connection.socket;
    heard.timeout = setTimeout(() => {
      heard.timeout = undefined;
      // Behind other data on a thin link the answer takes long; data before it is a sign of life.
      if (connection.socket?.bytesRead === bytesRead) connection.destroy();
    }, this.#timeoutMs).unref();
    connection.ping(() => {
      clearTimeout(heard.timeout);
      heard.timeout = undefined;
    });
  }
}
