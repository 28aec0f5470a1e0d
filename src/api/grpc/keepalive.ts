import type { ServerHttp2Session } from "node:http2";
import { limits } from "../../limits.ts";
import { socketOf } from "./connection-socket.ts";

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
  readonly #connections = new Map<ServerHttp2Session, Heard>();
  readonly #timer: NodeJS.Timeout;

  constructor({ intervalMs, timeoutMs }: KeepaliveTimes = DEFAULT) {
    this.#timeoutMs = timeoutMs;
    this.#timer = setInterval(() => this.#look(), intervalMs / LOOKS_PER_INTERVAL).unref();
  }

  watch(session: ServerHttp2Session): void {
    this.#connections.set(session, { bytesRead: 0, quietLooks: 0, timeout: undefined });
    session.once("close", () => {
      clearTimeout(this.#connections.get(session)?.timeout);
      this.#connections.delete(session);
    });
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const [session, heard] of this.#connections) {
      const bytesRead = socketOf(session)?.bytesRead ?? 0;
      if (bytesRead !== heard.bytesRead) {
        heard.bytesRead = bytesRead;
        heard.quietLooks = 0;
      } else if (++heard.quietLooks >= LOOKS_PER_INTERVAL) this.#ping(session, heard);
    }
  }

  #ping(session: ServerHttp2Session, heard: Heard): void {
    if (session.destroyed || heard.timeout !== undefined) return;
    const answered = (): void => {
      clearTimeout(heard.timeout);
      heard.timeout = undefined;
    };
    const bytesRead = socketOf(session)?.bytesRead;
    heard.timeout = setTimeout(() => {
      heard.timeout = undefined;
      // Behind other data on a thin link the answer takes long; data before it is a sign of life.
      if (socketOf(session)?.bytesRead === bytesRead) session.destroy();
    }, this.#timeoutMs).unref();
    if (!session.ping(answered)) answered();
  }
}
