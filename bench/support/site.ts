import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, type BusbarClient } from "../../src/client/client.ts";
import { Child, type ChildOptions } from "./child.ts";
import { waitUntil } from "./numbers.ts";

const busbar = fileURLToPath(new URL("../../busbar", import.meta.url));
const sources = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const bench = fileURLToPath(new URL("../", import.meta.url));

/** The flags of ./busbar, read from it: where sources must run, ./busbar itself cannot be used. */
const NODE_FLAGS = /^exec .*$/m.exec(readFileSync(busbar, "utf8"))?.[0].match(/--\S+/g) ?? [];
const KILL_MS = 300;
const CALL_MS_MAX = 120_000; // a noisy machine must not end a bench

/** Which processes write a CPU profile, and where. */
export interface Profiling {
  readonly target: "server" | "agent";
  readonly directory: string;
  /** When each process had started, by pid: earlier samples are mostly the loading of code. */
  readonly readyUs: Map<number, number>;
}

/** A control plane of the bench. */
export interface Server {
  readonly process: Child;
  readonly grpc: string;
  readonly client: BusbarClient;
}

export interface AgentOptions {
  readonly server: string;
  readonly name?: string;
  readonly cpus: number;
}

/** One case's world: a temporary directory and the processes it started. */
export class Site {
  readonly directory = mkdtempSync(join(tmpdir(), "busbar-bench-"));
  readonly #profiling: Profiling | undefined;
  readonly #children: Child[] = [];
  readonly #clients: BusbarClient[] = [];

  constructor(profiling?: Profiling) {
    this.#profiling = profiling;
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  start(command: string, args: readonly string[], options?: ChildOptions): Child {
    const child = new Child(command, args, { cwd: this.directory, ...options });
    this.#children.push(child);
    return child;
  }

  /** Returns when it serves. `data` names its directory: the same one twice is a restart. */
  async startServer(data = "data", flags: readonly string[] = []): Promise<Server> {
    const listen = ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
    const args = ["server", "--data", this.path(data), ...listen, "--log-level", "warn"];
    args.push(...flags);
    const process = this.#startBusbar("server", args);
    const grpc = await process.prints(/gRPC:\s+(\S+:\d+)/);
    const client = createClient({ server: grpc, timeoutMs: CALL_MS_MAX });
    this.#clients.push(client);
    await client.getStats({});
    this.#ready(process);
    return { process, grpc, client };
  }

  /** A real agent that runs real processes. Returns when the server knows it. */
  async startAgent({ client, grpc }: Server, { cpus }: { readonly cpus: number }): Promise<Child> {
    const flags = ["--name", "bench", "--data", this.path("agent"), "--cpu", String(cpus)];
    const args = ["agent", "--server", grpc, ...flags, "--log-level", "warn"];
    const agent = this.#startBusbar("agent", args);
    const isConnected = async (): Promise<boolean> => {
      if (agent.isOver) throw new Error(`the agent ended: ${await agent.done()}`);
      const { nodes } = await client.listNodes({});
      return nodes.some(({ state }) => state === "connected");
    };
    await waitUntil("connecting the agent", isConnected, { everyMs: 20, timeoutMs: 60_000 });
    this.#ready(agent);
    return agent;
  }

  #ready({ pid }: Child): void {
    this.#profiling?.readyUs.set(pid, Number(process.hrtime.bigint() / 1_000n));
  }

  /** A script of the bench in a separate process; its order is JSON. */
  startScript(file: string, options: unknown): Child {
    const env = file === "instant-agent.ts" ? this.#env("agent") : {};
    return this.start(
      process.execPath,
      [...NODE_FLAGS, join(bench, file), JSON.stringify(options)],
      {
        env,
      },
    );
  }

  /** The program as users run it. */
  startBusbar(args: readonly string[]): Child {
    return this.start(busbar, args);
  }

  /** A profiled process runs from its sources, so that the profile names their lines. */
  #startBusbar(target: Profiling["target"], args: readonly string[]): Child {
    const env = this.#env(target);
    if (this.#profiling?.target !== target) return this.start(busbar, args, { env });
    return this.start(process.execPath, [...NODE_FLAGS, sources, ...args], { env });
  }

  #env(target: Profiling["target"]): Record<string, string> {
    if (this.#profiling?.target !== target) return {};
    return { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${this.#profiling.directory}` };
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.close();
    for (const child of this.#children.toReversed()) await child.stop();
    this.#remove();
  }

  /** On Ctrl-C: nothing may be awaited any more. */
  abandon(): void {
    for (const child of this.#children) child.kill();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, KILL_MS); // they die, then it goes
    this.#remove();
  }

  #remove(): void {
    // Tasks that continue for a moment may still write there.
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** How the work was split into commits: few large ones are cheap, many small ones wait for the disk. */
/** `tasks`: the number of ended tasks. */
export async function describeCommits({ client }: Server, tasks: number): Promise<string> {
  const { commits, commitMsMean, commitMsMax } = await client.getStats({});
  const perTask = (Number(commits) / tasks).toFixed(tasks > Number(commits) * 10 ? 4 : 2);
  const times = `${commitMsMean.toFixed(1)} ms, worst ${commitMsMax}`;
  return `${perTask} commits per task (${commits}), each ${times}`;
}
