import { readFileSync, writeFileSync } from "node:fs";
import { type Running, Site } from "../../support/busbar.ts";
import { lastingAddress } from "../../support/lasting-address.ts";

/** A Busbar with a port for rainbow's clients, and their files. */
export class RainbowSite extends Site {
  /** The address for rainbow's clients. */
  rainbow = "";

  #running: Running | undefined;

  /** Starts it, or restarts it at the same address. */
  async startRainbow(...flags: string[]): Promise<void> {
    const at = this.rainbow || (await lastingAddress());
    this.#running = await this.startServer("--rainbow", at, ...flags);
    this.rainbow = await this.#running.prints(/Rainbow:\s+(\S+:\d+)/);
  }

  async stopRainbow(): Promise<void> {
    await this.#running?.end("SIGKILL");
  }

  /** The secret to register clusters with. */
  get registerSecret(): string {
    return readFileSync(this.path("data/rainbow-secret"), "utf8").trim();
  }

  file(name: string, content: unknown): string {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    writeFileSync(this.path(name), text);
    return this.path(name);
  }

  /** rainbow-config.yaml, with the fields that every release accepts. */
  config(
    cluster: { readonly name: string; readonly secret?: string },
    clusters: readonly { readonly name: string; readonly token: string }[] = [],
  ): string {
    return this.file("rainbow-config.yaml", {
      scheduler: { name: "rainbow", secret: this.registerSecret },
      cluster,
      graphdatabase: { name: "memory", options: { host: this.rainbow } },
      clusters,
    });
  }
}

const contains = (source: string, target: string) => [
  { source, target, relation: "contains" },
  { source: target, target: source, relation: "in" },
];
const vertex = (type: string) => ({ label: type, metadata: { type, size: 1, unit: "" } });

/** A rack of nodes with cores, as in rainbow's example. */
export function nodesJson(nodes: number, cores: number): unknown {
  const vertices: Record<string, unknown> = { "0": vertex("cluster"), "1": vertex("rack") };
  const edges: unknown[] = contains("0", "1");
  let next = 2;
  for (let node = 0; node < nodes; node++) {
    const id = String(next++);
    vertices[id] = vertex("node");
    edges.push(...contains("1", id));
    for (let core = 0; core < cores; core++) {
      vertices[String(next)] = vertex("core");
      edges.push(...contains(id, String(next++)));
    }
  }
  return { graph: { directed: true, nodes: vertices, edges } };
}

/** A file system on the first node. */
export const IO = {
  graph: {
    directed: true,
    nodes: { io0: vertex("io"), io1: vertex("shm") },
    edges: [...contains("io0", "io1"), { source: "2", target: "io1", relation: "contains" }],
  },
};
