import type { Address } from "../../lib/address.ts";
import { limits } from "../../limits.ts";
import type { CallError } from "./call-error.ts";
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
    let connection = this.#begin();
    const reconnect = (): Connection | undefined => {
      if (this.#isClosed) return undefined;
      this.#end(connection);
      return (connection = this.#begin());
    };
    const onEnd = (error: CallError | undefined): void => {
      this.#end(connection);
      events.onEnd(error);
    };
    const onMessage = (bytes: Buffer): void => events.onMessage(bytes);
    return openCall(connection, start, { onMessage, onEnd }, reconnect);
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

  #begin(): Connection {
    const connection = this.#connect();
    this.#calls += 1;
    if (this.#calls === 1) {
      connection.session.ref();
      this.#keepalive = setInterval(() => this.#ping(), limits.clientKeepaliveMs).unref();
    }
    return connection;
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
