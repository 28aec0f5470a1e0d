import type { AgentMessage } from "../../gen/busbar/v1/agent_pb.ts";
import { formatAddress, parseAddress } from "../../lib/address.ts";
import { limits } from "../../limits.ts";
import type { ConnectLink, Link, LinkEvents } from "./link.ts";

/** All addresses of a host name, in the order in which to try them. */
export type LookUp = (host: string) => Promise<readonly string[]>;

/**
 * The addresses of a server, tried in turn: those of `--server` in their order, and all addresses of a name. An agent stays with the
 * address that welcomed it, tries that one first when the session ends, and moves on when one does not answer.
 */
export class Servers {
  readonly #servers: readonly string[];
  readonly #lookUp: LookUp;
  readonly #dial: (address: string) => ConnectLink;
  /** The rest of this round; empty: names are resolved again. */
  #left: string[] = [];
  #welcomedBy: string | undefined;
  #total: number;

  constructor(
    servers: readonly string[],
    options: { readonly lookUp: LookUp; readonly dial: (address: string) => ConnectLink },
  ) {
    this.#servers = servers;
    this.#lookUp = options.lookUp;
    this.#dial = options.dial;
    this.#total = servers.length;
  }

  /** The number of addresses in the last round: a round of failures is one failure. */
  get total(): number {
    return this.#total;
  }

  /** A link to the next address. Messages wait until the address is known. */
  readonly connect: ConnectLink = (events) => {
    const waiting: AgentMessage[] = [];
    let link: Link | undefined;
    let isClosed = false;
    void this.#next().then((address) => {
      if (isClosed) return;
      link = this.#dial(address)(this.#watched(address, events));
      for (const message of waiting.splice(0)) link.send(message);
    });
    return {
      send: (message) => {
        if (link !== undefined) link.send(message);
        else if (!isClosed) waiting.push(message);
      },
      close: () => {
        isClosed = true;
        link?.close();
      },
      bytesReceived: () => link?.bytesReceived?.() ?? 0,
    };
  };

  #watched(address: string, events: LinkEvents): LinkEvents {
    return {
      onMessage: (message) => {
        if (message.message.case === "welcome") {
          this.#welcomedBy = address;
          this.#left = [];
        }
        events.onMessage(message);
      },
      onClose: (reason) => events.onClose(`${address}: ${reason}`),
    };
  }

  async #next(): Promise<string> {
    if (this.#left.length === 0) {
      const all = await this.#lookUpAll();
      this.#total = all.length;
      const first = this.#welcomedBy;
      this.#welcomedBy = undefined;
      const isKnown = first !== undefined && all.includes(first);
      this.#left = isKnown ? [first, ...all.filter((address) => address !== first)] : all;
    }
    return this.#left.shift() ?? (this.#servers[0] as string);
  }

  /** A name that cannot be resolved stays as it is: connecting to it gives the reason. */
  async #lookUpAll(): Promise<string[]> {
    const found = await Promise.all(
      this.#servers.map(async (server) => {
        const { host, port } = parseAddress(server, "--server");
        const hosts = await this.#lookUp(host).catch(() => []);
        if (hosts.length <= 1) return [server];
        return hosts.map((address) => formatAddress({ host: address, port }));
      }),
    );
    return [...new Set(found.flat())].slice(0, limits.serverAddressesMax);
  }
}
