import type { Address } from "../../lib/address.ts";
import { limits } from "../../limits.ts";
import { closedCall } from "./closed-call.ts";
import { type Connection, dial } from "./connection.ts";
import {
  type CallChannel,
  type CallEvents,
  type CallStart,
  openCall,
  type OpenCall,
} from "./open-call.ts";

/**
 * Calls to one server over one connection. The first call connects, and so does the first call after a lost connection. An idle channel
 * does not keep the process alive.
 */
export class Channel implements CallChannel {
  readonly #address: Address;
  #connection: Connection | undefined;
  #calls = 0;
  #isClosed = false;
  #keepalive: NodeJS.Timeout | undefined;

  constructor(address: Address) {
    this.#address = address;
  }

  call(start: CallStart, events: CallEvents): OpenCall {
    if (this.#isClosed) return closedCall(events);
    const connection = this.#connect();
    this.#begin(connection);
    return openCall(connection, start, {
      onMessage: (bytes) => events.onMessage(bytes),
      onEnd: (error) => {
        this.#end(connection);
        events.onEnd(error);
      },
    });
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#keepalive);
    this.#connection?.session.destroy();
  }

  #connect(): Connection {
    if (this.#connection === undefined || this.#connection.failure !== undefined) {
      clearInterval(this.#keepalive);
      this.#connection = dial(this.#address);
      this.#calls = 0;
    }
    return this.#connection;
  }

  #begin({ session }: Connection): void {
    this.#calls += 1;
    if (this.#calls > 1) return;
    session.ref();
    this.#keepalive = setInterval(() => this.#ping(), limits.clientKeepaliveMs);
    this.#keepalive.unref();
  }

  #end(connection: Connection): void {
    if (connection !== this.#connection) return;
    this.#calls -= 1;
    if (this.#calls > 0) return;
    if (!connection.session.destroyed) connection.session.unref();
    clearInterval(this.#keepalive);
  }

  /** Detects a server that vanished silently while a call waits for it. */
  #ping(): void {
    const { session } = this.#connection ?? {};
    if (session === undefined || session.destroyed || session.connecting) return;
    const silent = setTimeout(() => {
      session.destroy(new Error("the server does not answer pings"));
    }, limits.grpcKeepaliveTimeoutMs);
    silent.unref();
    const isSent = session.ping(() => clearTimeout(silent));
    if (!isSent) clearTimeout(silent);
  }
}
