import { execFile, execFileSync, spawn, type ChildProcess } from "node:child_process";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { eventually } from "../../../src/testing/eventually.ts";
import { cachedBuild } from "./cached-build.ts";
import { builtPrograms } from "./go-programs.ts";
import { pythonWith } from "./python-packages.ts";

const run = promisify(execFile);
const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** A library for gRPC in some language, and a program that makes calls through it. */
export interface Language {
  readonly library: string;
  /** Why its program cannot be built here; undefined: it can. */
  readonly missing: string | undefined;
  /** It has its own stubs for health checks and reflection. */
  readonly hasStubs: boolean;
  /** The shortest interval of pings that it supports. */
  readonly keepaliveMs: number;
  /** The program and its first arguments; built or installed once, and cached. */
  command(): Promise<readonly [string, ...string[]]>;
}

const missing = (program: string, flag = "--version"): string | undefined => {
  try {
    execFileSync(program, [flag], { stdio: "ignore" });
    return undefined;
  } catch {
    return `${program} is not installed`;
  }
};

export const LANGUAGES: readonly Language[] = [
  {
    library: "grpc-go",
    missing: missing("go", "version"),
    hasStubs: true,
    keepaliveMs: 10_000, // its minimum
    async command() {
      const sources = path("../grpc/go");
      const directory = await builtPrograms({ name: "grpc-interop-go", sources, packages: ["."] });
      return [join(directory, "grpc-interop")];
    },
  },
  {
    library: "grpcio",
    missing: missing("python3"),
    hasStubs: true,
    keepaliveMs: 500,
    async command() {
      const packages = ["grpcio", "grpcio-health-checking", "grpcio-reflection"];
      const pinned = packages.map((name) => `${name}==1.85.1`);
      const python = await pythonWith("grpc-interop-python", pinned);
      return [python, path("../grpc/python/client.py")];
    },
  },
  {
    library: "tonic",
    missing: missing("cargo"),
    hasStubs: false,
    keepaliveMs: 500,
    async command() {
      const sources = path("../grpc/rust");
      const make = (directory: string) => buildRust(sources, directory);
      const directory = await cachedBuild({ name: "grpc-interop-rust", from: [sources], make });
      return [join(directory, "grpc-interop")];
    },
  },
];

async function buildRust(sources: string, directory: string): Promise<void> {
  const target = join(directory, "target");
  const env = { ...process.env, CARGO_TARGET_DIR: target };
  const args = ["build", "--locked", "--quiet", "--manifest-path", join(sources, "Cargo.toml")];
  try {
    await run("cargo", args, { env, timeout: 540_000 });
  } catch (cause) {
    throw new Error("the client in Rust cannot be built: it needs cargo, and crates.io once", {
      cause,
    });
  }
  renameSync(join(target, "debug/grpc-interop"), join(directory, "grpc-interop"));
  rmSync(target, { recursive: true });
}

/** See ../grpc/README.md. */
export interface Task {
  readonly kind: "unary" | "server" | "bidi";
  readonly path: string;
  readonly messages: readonly Uint8Array[];
  readonly zeros?: number;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly gzip?: boolean;
  readonly cancelAfter?: number;
}

export interface CallEnd {
  readonly code: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly trailers: Readonly<Record<string, string>>;
}

/** A call that a program makes, with its results so far. */
export class InteropCall {
  readonly messages: Buffer[] = [];
  end: CallEnd | undefined;
  /** Of the library's own stubs. */
  answer: readonly string[] | undefined;

  async answered(count: number): Promise<void> {
    const what = (): string => `${count} answers, not ${this.messages.length}`;
    await eventually(() => this.messages.length >= count || this.end !== undefined, {
      what,
      timeoutMs: 60_000,
    });
  }

  ended(): Promise<CallEnd> {
    return eventually(() => this.end, { what: "the end of a call", timeoutMs: 60_000 });
  }
}

interface Line extends CallEnd {
  readonly id: number;
  readonly message?: string;
  readonly answer?: readonly string[];
}

/** A running program with one connection. */
export class InteropClient {
  readonly #child: ChildProcess;
  readonly #calls: InteropCall[] = [];
  #complaints = "";

  constructor([program, ...args]: readonly [string, ...string[]], settings: object) {
    const env = { ...process.env, no_proxy: "*" };
    this.#child = spawn(program, [...args, JSON.stringify(settings)], { env });
    this.#child.stderr?.on("data", (data: Buffer) => (this.#complaints += data.toString()));
    const { stdout } = this.#child;
    if (stdout === null) throw new Error("it has no output");
    createInterface({ input: stdout }).on("line", (text) => this.#hear(JSON.parse(text) as Line));
  }

  /** Its unrequested output: where it failed. */
  get complaints(): string {
    return this.#complaints;
  }

  begin({ messages, ...task }: Task): InteropCall {
    return this.#tell({ ...task, messages: messages.map((each) => toHex(each)) });
  }

  async call(task: Task): Promise<CallEnd & { readonly messages: readonly Buffer[] }> {
    const call = this.begin(task);
    return { ...(await call.ended()), messages: call.messages };
  }

  /** Through the library's own stubs. */
  async ask(kind: "health" | "services"): Promise<readonly string[]> {
    const call = this.#tell({ kind });
    await call.ended();
    return call.answer ?? [];
  }

  async close(): Promise<void> {
    this.#child.kill("SIGKILL");
    const isOver = () => this.#child.exitCode !== null || this.#child.signalCode !== null;
    await eventually(isOver, { what: "the client to end", timeoutMs: 20_000 });
  }

  #tell(task: object): InteropCall {
    const call = new InteropCall();
    const id = this.#calls.push(call) - 1;
    this.#child.stdin?.write(`${JSON.stringify({ id, ...task })}\n`);
    return call;
  }

  #hear({ id, message, answer, ...end }: Line): void {
    const call = this.#calls[id];
    if (call === undefined) throw new Error(`it speaks of a call ${id}, which nobody made`);
    if (message !== undefined) call.messages.push(Buffer.from(message, "hex"));
    else {
      call.answer = answer;
      call.end = end;
    }
  }
}

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
