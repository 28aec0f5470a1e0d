import { setTimeout as delay } from "node:timers/promises";
import { NO_FACTS } from "../../core/model/node/node-facts.ts";
import { AppError } from "../../lib/errors.ts";
import type { AgentFlags, Context, ServerFlags, UpFlags } from "../context.ts";
import { runCli } from "../program.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The arguments of the long-running commands. */
  readonly started: readonly (UpFlags | ServerFlags | AgentFlags)[];
}

/** Runs a command line in this process, isolated from the process itself. */
export async function runHere(argv: readonly string[], given: Partial<Context> = {}): Promise<Ran> {
  const written = { stdout: "", stderr: "" };
  const started: (UpFlags | ServerFlags | AgentFlags)[] = [];
  const sink = (name: "stdout" | "stderr") => ({
    isTerminal: false,
    columns: undefined,
    rows: undefined,
    write: async (data: string | Uint8Array) => {
      written[name] += typeof data === "string" ? data : Buffer.from(data).toString();
    },
  });
  const listening = {
    command: "./busbar",
    http: "127.0.0.1:7070",
    grpc: "127.0.0.1:7071",
    data: "/data",
  };
  const context: Context = {
    env: {},
    cwd: "/home/ada",
    directoryId: () => undefined,
    hasFile: () => false,
    hostname: "ada's laptop",
    stdout: sink("stdout"),
    stderr: sink("stderr"),
    services: {
      up: async (flags, announce) => {
        started.push(flags);
        await announce({ ...listening, node: flags.name });
      },
      server: async (flags, announce) => {
        started.push(flags);
        await announce(listening);
      },
      agent: async (flags) => {
        started.push(flags);
      },
      extract: async () => NO_FACTS,
      recover: async () => Promise.reject(new Error("nothing to recover in tests")),
      units: async () => Promise.reject(new Error("no units in tests")),
      saveBackup: async () => Promise.reject(new Error("nothing to save in tests")),
      restore: async () => Promise.reject(new Error("nothing to restore in tests")),
    },
    nowMs: () => 1_000_000,
    sleep: async (delayMs, signal) => {
      await delay(delayMs, undefined, { signal }).catch(() => undefined);
    },
    stdin: "other",
    terminal: undefined,
    openInput: (path) => {
      throw new AppError("invalid_argument", `no file ${path}`);
    },
    readInput: (path) => Promise.reject(new AppError("invalid_argument", `no file ${path}`)),
    writeNewFiles: async (folder) => Promise.reject(new AppError("unavailable", `no ${folder}`)),
    replaceFile: async (path) => Promise.reject(new AppError("unavailable", `no ${path}`)),
    onInterrupt: () => () => undefined,
    onStop: () => () => undefined,
    onResize: () => () => undefined,
    onKey: () => () => undefined,
    exitNow: () => {
      throw new Error("exitNow");
    },
    ...given,
  };
  const code = await runCli(argv, context);
  return { code, ...written, started };
}
