import { Agent, type IncomingMessage, request } from "node:http";
import { KINDS, type KindName } from "../../src/api/nexus/model/kinds.ts";
import { hashName, treeLabels } from "../../src/api/nexus/model/names.ts";

/** The user agent of the earlier system's edge agents. */
export const USER_AGENT = "eps-edge-agent/v0.0.0 (linux/amd64) kubernetes/$Format";

export interface Item {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly spec: { readonly powerNeeded: number };
  readonly status: { readonly state: { readonly progress: number } };
}

/** A client of the Kubernetes-style API. */
export class NexusClient {
  readonly #host: string;
  readonly #port: string;
  readonly #agent: Agent;

  constructor(address: string, connections: number) {
    [this.#host = "", this.#port = ""] = address.split(":");
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  path(kind: KindName, name = ""): string {
    const { group, plural } = KINDS[kind];
    return `/apis/${group}/v1/${plural}${name === "" ? "" : `/${name}`}`;
  }

  /** Creates an object by its names from the root down. */
  async create(kind: KindName, path: readonly string[], more: object = {}): Promise<void> {
    const labels = treeLabels(KINDS[kind], path);
    const metadata = { name: hashName(KINDS[kind], path), creationTimestamp: null, labels };
    await this.#send("POST", this.path(kind), { metadata, ...more });
  }

  async putStatus(kind: KindName, name: string, state: object): Promise<void> {
    const body = { kind: KINDS[kind].plural, metadata: { name }, spec: {}, status: { state } };
    await this.#send("PUT", `${this.path(kind, name)}/status`, body);
  }

  nameOf(kind: KindName, path: readonly string[]): string {
    return hashName(KINDS[kind], path);
  }

  async list(kind: KindName, query = ""): Promise<{ items: Item[]; resourceVersion: string }> {
    const text = await this.#send("GET", `${this.path(kind)}?resourceVersion=0&${query}`);
    const { items, metadata } = JSON.parse(text) as {
      items: Item[];
      metadata: { resourceVersion: string };
    };
    return { items, resourceVersion: metadata.resourceVersion };
  }

  /** Calls back with the JSON of each event from a resourceVersion on; returns a function that ends it. */
  watchLines(kind: KindName, from: string, onLine: (line: string) => void): () => void {
    const path = `${this.path(kind)}?watch=true&allowWatchBookmarks=true&resourceVersion=${from}`;
    const asked = request(this.#options("GET", path, false), (answer) => {
      let rest = "";
      answer.setEncoding("utf8").on("data", (text: string) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line !== "") onLine(line);
      });
    });
    asked.on("error", () => undefined); // we ended it
    asked.end();
    return () => asked.destroy();
  }

  close(): void {
    this.#agent.destroy();
  }

  #options(method: string, path: string, isPooled = true) {
    return {
      host: this.#host,
      port: this.#port,
      method,
      path,
      headers: { "user-agent": USER_AGENT, "content-type": "application/json" },
      agent: isPooled ? this.#agent : false,
    } as const;
  }

  #send(method: string, path: string, body?: object): Promise<string> {
    return new Promise((resolve, reject) => {
      const asked = request(this.#options(method, path), (answer: IncomingMessage) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => (text += part));
        answer.on("end", () => {
          const status = answer.statusCode ?? 0;
          if (status < 300 || status === 409) resolve(text);
          else reject(new Error(`${method} ${path}: ${status} ${text.slice(0, 300)}`));
        });
      });
      asked.on("error", reject);
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}
