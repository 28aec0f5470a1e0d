import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { RemoteExecutorOptions } from "../../../src/agent/executors/remote/remote-executor.ts";
import { createRemoteExecutor } from "../../../src/agent/executors/remote/remote-executor.ts";
import { membersOf, parseProcessStat } from "../../../src/agent/proc.ts";
import { AppError } from "../../../src/lib/errors.ts";
import type { Executor } from "../../../src/ports/executor.ts";
import type { Executed, RemoteShell } from "../../../src/ports/remote-shell.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import type { ExecutorBed } from "./executor-contract.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";
import { kill, realClock } from "./process-bed.ts";

/** How this far end misbehaves, for tests that need it. */
export interface Faults {
  /** Which answers never arrive. */
  readonly drops?: (argv: readonly string[]) => boolean;
  /** Which commands never run, though they were accepted. */
  readonly ignores?: (argv: readonly string[]) => boolean;
  readonly isSilentOnAccept?: boolean;
  /** It finds programs only by their paths. */
  readonly hasNoSearchPath?: boolean;
}

/** Runs commands as a worker of go-schedule does: no shell, its own environment, output as text. */
export class LocalShell implements RemoteShell {
  readonly id = "local";
  readonly address = "127.0.0.1";
  readonly #over = new AbortController();
  readonly closed = this.#over.signal;
  readonly commands: (readonly string[])[] = [];
  readonly ended = new Set<readonly string[]>();
  faults: Faults = {};
  env: Readonly<Record<string, string | undefined>>;

  constructor(env: Readonly<Record<string, string | undefined>> = process.env) {
    this.env = env;
  }

  exec(
    argv: readonly string[],
    { onAccepted, timeoutMs }: Parameters<RemoteShell["exec"]>[1] = {},
  ) {
    this.commands.push(argv);
    return new Promise<Executed>((resolve, reject) => {
      const lose = (): void => reject(new AppError("unavailable", "the link is gone"));
      if (this.closed.aborted) return lose();
      this.closed.addEventListener("abort", lose, { once: true });
      if (timeoutMs !== undefined) setTimeout(lose, timeoutMs).unref();
      if (this.faults.isSilentOnAccept !== true) queueMicrotask(() => onAccepted?.());
      if (this.faults.ignores?.(argv) === true) return;
      const [program = "", ...args] = argv;
      if (this.faults.hasNoSearchPath === true && !program.startsWith("/")) {
        return resolve({ stdout: "", stderr: "" });
      }
      const child = spawn(program, args, {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...this.env },
      });
      const texts = { stdout: "", stderr: "" };
      child.stdout.setEncoding("utf8").on("data", (text: string) => (texts.stdout += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (texts.stderr += text));
      // Whatever the outcome, go-schedule's workers report it as done.
      child.once("error", () => resolve(texts));
      child.once("close", () => {
        this.ended.add(argv);
        if (this.faults.drops?.(argv) !== true) resolve(texts);
      });
    });
  }

  isThere(): Promise<boolean> {
    return Promise.resolve(!this.closed.aborted);
  }

  close(): void {
    this.#over.abort();
  }
}

export interface RemoteBed extends ExecutorBed {
  readonly directory: string;
  /** Of the last opened executor. */
  shell(): LocalShell;
  /** `env` is that of the worker's program. */
  open(
    over?: Partial<RemoteExecutorOptions> & {
      readonly env?: Readonly<Record<string, string | undefined>>;
    },
  ): Promise<Executor>;
  /** The pid of the wrapper of a run. */
  wrapperOf(key: string): number | undefined;
  processes(): number[];
}

/** The runs that a command starts: the arguments of START. */
export const keysOf = (argv: readonly string[]): readonly string[] => argv[9]?.split(" ") ?? [];

export const shells = ["/bin/dash", "/bin/bash"].filter((path) => existsSync(path));

/** A directory that represents a remote machine's disk, and links to that machine one after another. */
export function makeRemoteBed(shellPath: string): RemoteBed {
  const directory = mkdtempSync(join(tmpdir(), "busbar-remote-"));
  const opened: LocalShell[] = [];
  const sessions = new Set<number>();

  function wrapperOf(key: string): number | undefined {
    const path = join(directory, `${key}.state`);
    if (!existsSync(path)) return undefined;
    const line = readFileSync(path, "utf8")
      .split("\n")
      .find((each) => /^\d/.test(each));
    return parseProcessStat(line ?? "")?.pid;
  }

  function processes(): number[] {
    for (const name of existsSync(directory) ? readdirSync(directory) : []) {
      const pid = name.endsWith(".state") ? wrapperOf(name.slice(0, -6)) : undefined;
      if (pid !== undefined) sessions.add(pid);
    }
    return [...membersOf(sessions).values()].flat().map(({ pid }) => pid);
  }

  /** A worker that lost its link reconnects after seconds: its requests have begun by then. */
  const settled = (): Promise<unknown> =>
    eventually(
      () =>
        opened
          .flatMap(({ commands, ended }) => commands.filter((argv) => !ended.has(argv)))
          .filter(([program]) => program === "setsid")
          .every((argv) => existsSync(join(directory, `${keysOf(argv)[0]}.state`))),
      { what: "what was sent to have begun" },
    );

  return {
    directory,
    processes,
    wrapperOf,
    shell: () => opened.at(-1) ?? new LocalShell(),
    async open({ env, ...over } = {}) {
      await settled();
      const shell = new LocalShell(env);
      opened.push(shell);
      const place = { shell: shellPath, setsid: "setsid", directory };
      const parts = { link: `${opened.length}`, clock: realClock, logger: silentLogger };
      return createRemoteExecutor({ shell, place, ...parts, ...over });
    },
    async abandon(executor) {
      await executor.close();
      opened.at(-1)?.close();
    },
    async dispose() {
      for (const shell of opened) shell.close();
      await eventually(
        () => {
          const left = processes();
          for (const pid of left) kill(pid);
          return left.length === 0;
        },
        { what: "the processes of a test to go" },
      );
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
