import type { Address } from "../../../lib/address.ts";
import { closedCall } from "../closed-call.ts";
import {
  type CallChannel,
  type CallEvents,
  type CallStart,
  openCall,
  type OpenCall,
} from "../open-call.ts";
import { LeanConnection } from "./lean-connection.ts";

/**
 * Calls of a program that makes few: a connection for each that is under way, kept for the next one.
 * Where many are under way at once, `Channel` with its one connection costs the server less.
 */
export class LeanChannel implements CallChannel {
  readonly #address: Address;
  #connections: LeanConnection[] = [];
  #isClosed = false;

  constructor(address: Address) {
    this.#address = address;
  }

  call(start: CallStart, events: CallEvents): OpenCall {
    if (this.#isClosed) return closedCall(events);
    const reconnect = (): LeanConnection | undefined =>
      this.#isClosed ? undefined : this.#connection();
    return openCall(this.#connection(), start, events, reconnect);
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections) connection.close();
  }

  #connection(): LeanConnection {
    this.#connections = this.#connections.filter((connection) => !connection.isOver);
    const idle = this.#connections.find((connection) => connection.isIdle);
    if (idle !== undefined) return idle;
    const dialled = new LeanConnection(this.#address);
    this.#connections.push(dialled);
    return dialled;
  }
}
