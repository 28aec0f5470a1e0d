import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type BusbarClient } from "../../src/client/client.ts";
import { AppError } from "../../src/lib/errors.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { lastingAddress } from "../support/lasting-address.ts";
import { Part } from "./parts.ts";

const CALL_TIMEOUT_MS = 10_000;
const UP_TIMEOUT_MS = 120_000;

/** One server and two agents over one directory, which outlives them all. */
export class World {
  readonly directory: string;
  readonly server: Part;
  readonly agents: readonly Part[];
  /** The time from the start of a server to its first answer. */
  readonly restartsMs: number[] = [];
  readonly #address: string;
  #client: BusbarClient;

  static async create(nodeLostAfter: string): Promise<World> {
    return new World(await lastingAddress(), nodeLostAfter);
  }

  private constructor(address: string, nodeLostAfter: string) {
    this.directory = mkdtempSync(join(tmpdir(), "busbar-crash-"));
    this.#address = address;
    const data = (name: string): string => join(this.directory, name);
    const listen = ["--grpc", address, "--http", "127.0.0.1:0"];
    const serverFlags = ["--data", data("data"), ...listen, "--node-lost-after", nodeLostAfter];
    this.server = new Part("server", this.directory, ["server", ...serverFlags]);
    this.agents = ["a1", "a2"].map((name) => {
      const flags = ["--server", address, "--name", name, "--data", data(name), "--cpu", "16"];
      return new Part(name, this.directory, ["agent", ...flags]);
    });
    this.#client = this.#dial();
  }

  get parts(): readonly Part[] {
    return [this.server, ...this.agents];
  }

  /** Belongs to the present server process: a client that lost its server would wait to connect again. */
  get client(): BusbarClient {
    return this.#client;
  }

  #dial(): BusbarClient {
    return createClient({ server: this.#address, timeoutMs: CALL_TIMEOUT_MS });
  }

  /** Resolves when the server answers. */
  async startServer(): Promise<void> {
    const startedAtMs = performance.now();
    this.server.start();
    await this.server.prints(/gRPC:\s+(\S+:\d+)/);
    this.#client.close();
    this.#client = this.#dial();
    await this.#client.getStats({});
    this.restartsMs.push(performance.now() - startedAtMs);
  }

  async nodesAreConnected(): Promise<void> {
    await this.#becomes("the nodes to be connected", async () => {
      const { nodes } = await this.client.listNodes({ state: "connected" });
      return nodes.length === this.agents.length;
    });
  }

  /** Also when it never joined. */
  async nodeIsLost({ name }: Part): Promise<void> {
    await this.#becomes(`the node ${name} to be lost`, async () => {
      const { nodes } = await this.client.listNodes({});
      return (nodes.find((node) => node.name === name)?.state ?? "lost") === "lost";
    });
  }

  /** No task is queued or running. */
  async allHasEnded(): Promise<void> {
    await this.#becomes("every job to end", async () => {
      const { jobs } = await this.client.countJobs({});
      return (jobs["pending"] ?? 0n) + (jobs["running"] ?? 0n) === 0n;
    });
  }

  async #becomes(what: string, ask: () => Promise<boolean>): Promise<void> {
    const check = async (): Promise<boolean> => {
      const problem = this.parts.flatMap(({ problems }) => problems)[0];
      if (problem !== undefined) throw new Error(problem);
      try {
        return await ask();
      } catch (error) {
        if (error instanceof AppError && error.code === "unavailable") return false;
        throw error;
      }
    };
    await eventually(check, { what: `${what} in ${this.directory}`, timeoutMs: UP_TIMEOUT_MS });
  }

  /** Ends every process; the directory stays for inspection. */
  async close(options: { readonly keep: boolean }): Promise<void> {
    this.#client.close();
    await Promise.all(this.parts.map((part) => part.kill()));
    if (options.keep) return;
    // Tasks that continue for a moment may still write there.
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}
