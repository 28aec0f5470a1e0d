import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, type BusbarClient } from "../../src/client/client.ts";
import { stateName } from "../../src/client/state.ts";
import { AppError, describeChain } from "../../src/lib/errors.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { lastingAddress } from "./lasting-address.ts";

const command = fileURLToPath(new URL("../../busbar", import.meta.url));

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningOptions {
  /** Default: `busbar`. */
  readonly program?: string;
  readonly cwd?: string;
  /** In addition to the present environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** Whether tests write to its standard input. */
  readonly takesInput?: boolean;
}

/** A long-running process of a test, with what it printed. */
export class Running {
  readonly child: ChildProcess;
  output = "";

  constructor(args: readonly string[], options: RunningOptions = {}) {
    const { program = command, cwd, env, takesInput } = options;
    this.child = spawn(program, args, {
      stdio: [takesInput === true ? "pipe" : "ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
      ...(cwd === undefined ? {} : { cwd }),
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on("data", (data: Buffer) => {
        this.output += data.toString();
      });
    }
  }

  /** The launcher becomes the process itself, so this is the pid to signal. */
  get pid(): number {
    return this.child.pid ?? -1;
  }

  get isOver(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async prints(pattern: RegExp): Promise<string> {
    const match = await eventually(
      () => {
        const found = pattern.exec(this.output);
        if (found === null && this.isOver) throw new Error(`it ended: ${this.output}`);
        return found ?? undefined;
      },
      { what: () => `${String(pattern)} in ${this.output}`, timeoutMs: 60_000 },
    );
    return match[1] ?? match[0];
  }

  /** Resolves with its exit code when it has ended. */
  async end(signal?: NodeJS.Signals): Promise<number | null> {
    if (!this.isOver && signal !== undefined) this.child.kill(signal);
    await eventually(() => this.isOver, { what: `${this.pid} to end`, timeoutMs: 60_000 });
    return this.child.exitCode;
  }
}

/** One test's world: a directory, its processes, and commands against its server. */
export class Site {
  readonly directory = mkdtempSync(join(tmpdir(), "busbar-e2e-"));
  readonly #running: Running[] = [];
  #client: BusbarClient | undefined = undefined;
  server = "";
  http = "";

  path(name: string): string {
    return join(this.directory, name);
  }

  start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    return this.startProgram(args, { env });
  }

  startProgram(args: readonly string[], options: RunningOptions): Running {
    const running = new Running(args, options);
    this.#running.push(running);
    return running;
  }

  /** Starts the control plane, or restarts it at the same address. */
  async startServer(...flags: string[]): Promise<Running> {
    const args = ["server", "--data", this.path("data"), "--http", "127.0.0.1:0"];
    if (!flags.includes("--grpc")) args.push("--grpc", this.server || (await lastingAddress()));
    const running = this.start([...args, ...flags]);
    this.server = await running.prints(/gRPC:\s+(\S+:\d+)/);
    this.http = await running.prints(/REST:\s+(http:\S+)/);
    return running;
  }

  async startAgent(name: string, ...flags: string[]): Promise<Running> {
    const data = this.path(`agent-${name}`);
    const running = this.start([
      "agent",
      "--server",
      this.server,
      "--name",
      name,
      "--data",
      data,
      ...flags,
    ]);
    await this.nodeIs(name, "connected");
    return running;
  }

  run(...args: string[]): Promise<Outcome> {
    return new Promise((resolve) => {
      const env = { ...process.env, BUSBAR_SERVER: this.server };
      // Tasks run in the directory of submission: not in the checkout.
      const options = { env, cwd: this.directory, maxBuffer: 2 ** 28 };
      execFile(command, args, options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, stdout, stderr });
      });
    });
  }

  /** The value of a command that must succeed. */
  async json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await this.run("--output", "json", ...args);
    if (code !== 0) throw new Error(`busbar ${args.join(" ")}: ${code} ${stdout} ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** Calls without starting a process, for repeated requests. */
  get client(): BusbarClient {
    if (this.#client?.server !== this.server) {
      this.#client?.close();
      this.#client = createClient({ server: this.server });
    }
    return this.#client;
  }

  /** Waits until the call has this answer; an unreachable server has none yet. */
  async #becomes(what: string, want: string, ask: () => Promise<string>): Promise<void> {
    let last = "";
    const check = async (): Promise<boolean> => {
      try {
        last = await ask();
      } catch (error) {
        last = describeChain(error);
        if (!(error instanceof AppError)) throw error;
      }
      return last === want;
    };
    const told = (): string => `${what} to be ${want}, not ${last}`;
    await eventually(check, { what: told, timeoutMs: 90_000 });
  }

  nodeIs(name: string, state: string): Promise<void> {
    return this.#becomes(
      `node ${name}`,
      state,
      async () => (await this.client.getNode({ name })).state,
    );
  }

  jobIs(id: string, state: string): Promise<void> {
    const ask = async (): Promise<string> => stateName((await this.client.getJob({ id })).state);
    return this.#becomes(`job ${id}`, state, ask);
  }

  /** Lines that tasks appended to a file, sorted. */
  lines(name: string): string[] {
    try {
      return readFileSync(this.path(name), "utf8").split("\n").filter(Boolean).sort();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#client?.close();
    for (const running of this.#running.reverse()) await running.end("SIGKILL");
    killAllOf(this.directory);
    // Tasks that continue for a moment may still write there.
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Launchers of ended agents, and the tasks that they would leave running. */
function killAllOf(directory: string): void {
  const found = processes();
  const own = new Set(found.filter(({ line }) => line.includes(directory)).map(({ pid }) => pid));
  for (const { pid, parent } of found) {
    if (own.has(pid) || own.has(parent)) kill(pid);
  }
}

function processes(): { readonly pid: number; readonly parent: number; readonly line: string }[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ", 1)[0]);
      return [{ pid: Number(name), parent, line: readFileSync(`/proc/${name}/cmdline`, "latin1") }];
    } catch {
      return []; // it has just ended
    }
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
