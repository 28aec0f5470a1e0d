import { createServer, connect, type Server, type Socket } from "node:net";
import { OneWay } from "./one-way.ts";

export type Direction = "up" | "down";

export interface RelaySettings {
  /** The delay in each direction, on top of the machine's own. */
  readonly delayMs?: number;
  /** The rate towards the target, of all connections together; absent: no limit. */
  readonly upBytesPerSecond?: number;
  /** The rate towards the callers. */
  readonly downBytesPerSecond?: number;
}

/** A test that does not close its relay must not hang on it. */
const LIFE_MS = 180_000;

/**
 * A link between real processes that tests can make thin, slow and broken: callers connect to `address` and reach the target. The rate
 * belongs to the link, whatever the number of connections. The relay reads a byte only when its turn on the link has come, so that the rest
 * stays with the sender.
 */
export class Relay {
  readonly #server: Server;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #ways: Readonly<Record<Direction, OneWay>>;
  readonly #sockets = new Set<Socket>();
  readonly #life: NodeJS.Timeout;
  #isRefusing = false;
  /** Connections that callers have opened so far. */
  dials = 0;

  private constructor(target: string, settings: RelaySettings) {
    const [host, port] = [target.slice(0, target.lastIndexOf(":")), target.split(":").at(-1)];
    this.#target = { host, port: Number(port) };
    this.#ways = { up: new OneWay(), down: new OneWay() };
    this.set(settings);
    // Half open: the end of one direction must not overtake bytes that are still on the link.
    this.#server = createServer({ allowHalfOpen: true }, (caller) => this.#join(caller));
    this.#life = setTimeout(() => void this.close(), LIFE_MS).unref();
  }

  static async start(target: string, settings: RelaySettings = {}): Promise<Relay> {
    const relay = new Relay(target, settings);
    await new Promise<void>((resolve, reject) => {
      relay.#server.once("error", reject);
      relay.#server.listen(0, "127.0.0.1", resolve);
    });
    return relay;
  }

  get address(): string {
    const at = this.#server.address();
    if (at === null || typeof at === "string") throw new Error("the relay does not listen");
    return `127.0.0.1:${at.port}`;
  }

  /** Bytes that the link has carried so far, of all connections. */
  carried(direction: Direction): number {
    return this.#ways[direction].carriedBytes;
  }

  /** Absent settings stay unchanged. A rate of Infinity removes the limit. */
  set({ delayMs, upBytesPerSecond, downBytesPerSecond }: RelaySettings): void {
    this.#ways.up.set({ delayMs, bytesPerSecond: upBytesPerSecond });
    this.#ways.down.set({ delayMs, bytesPerSecond: downBytesPerSecond });
  }

  /** Carries nothing until `resume` and notifies neither end, like a NAT that dropped its entry, or packet loss. */
  pause(direction: Direction | "both" = "both"): void {
    if (direction !== "down") this.#ways.up.pause();
    if (direction !== "up") this.#ways.down.pause();
  }

  resume(): void {
    this.#ways.up.resume();
    this.#ways.down.resume();
  }

  /** Ends all connections; bytes on the link are lost. New ones work. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Ends all connections and refuses new ones until `heal`. */
  cut(): void {
    this.#isRefusing = true;
    this.reset();
  }

  heal(): void {
    this.#isRefusing = false;
    this.resume();
  }

  async close(): Promise<void> {
    clearTimeout(this.#life);
    for (const way of Object.values(this.#ways)) way.close();
    this.reset();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #join(caller: Socket): void {
    if (this.#isRefusing) {
      caller.resetAndDestroy();
      return;
    }
    this.dials += 1;
    const target = connect({ ...this.#target, allowHalfOpen: true });
    const pair = [caller, target] as const;
    for (const socket of pair) {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on("error", () => undefined); // its close follows
      socket.once("close", () => {
        this.#sockets.delete(socket);
        for (const one of pair) one.destroy();
      });
    }
    this.#ways.up.join(caller, target);
    this.#ways.down.join(target, caller);
  }
}
