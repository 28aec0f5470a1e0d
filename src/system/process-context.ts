import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { hostname } from "node:os";
import { isatty } from "node:tty";
import type { Context, Services, Sink, Terminal } from "../cli/context.ts";
import { identifyDirectory } from "../lib/files/directory-id.ts";
import { currentDirectory } from "./current-directory.ts";
import { openInput, readInput, stdinKind } from "./input.ts";
import { replaceFile, writeNewFiles } from "./output-files.ts";

/** The command line's view of the process it runs in. */
export function createProcessContext(services: Services): Context {
  return {
    env: process.env,
    get cwd() {
      return currentDirectory();
    },
    directoryId: () => identifyDirectory(currentDirectory()),
    hasFile: (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true,
    hostname: hostname(),
    stdout: createSink(process.stdout),
    stderr: createSink(process.stderr),
    services,
    nowMs: () => Date.now(),
    sleep,
    stdin: stdinKind(),
    terminal: openTerminal(),
    openInput,
    readInput,
    writeNewFiles,
    replaceFile,
    onInterrupt(handler) {
      const listener = (): void => {
        endBySignal();
        handler();
      };
      process.on("SIGINT", listener);
      return () => process.off("SIGINT", listener);
    },
    onStop(handler) {
      const all = Object.entries(EXIT_CODES).map(([name, code]) => {
        const signal = name as keyof typeof EXIT_CODES;
        const listener = (): void => handler(code);
        process.on(signal, listener);
        return (): unknown => process.off(signal, listener);
      });
      return () => all.forEach((undo) => undo());
    },
    onResize(handler) {
      process.stdout.on("resize", handler);
      return () => process.stdout.off("resize", handler);
    },
    onKey: readKeys,
    exitNow: (code) => process.exit(code),
  };
}

/**
 * Makes an exit with 130 an end by SIGINT. A shell sees the same code, but it ends its own loop or script only if the signal ended the
 * program: otherwise `for file in *; do busbar run ...; done` needs a Ctrl-C for every file.
 */
function endBySignal(): void {
  if (process.listeners("exit").includes(dieOfInterrupt)) return;
  process.on("exit", dieOfInterrupt);
}

function dieOfInterrupt(code: number): void {
  if (code !== EXIT_CODES.SIGINT) return;
  process.removeAllListeners("SIGINT");
  process.kill(process.pid, "SIGINT");
}

/** 128 plus the number of the signal, as in shells. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Reads no keys when standard input is not a terminal. */
function readKeys(handler: (key: string) => void): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) return () => undefined;
  const listener = (bytes: Buffer): void => {
    const text = bytes.toString("utf8");
    // Arrows and the like begin with an escape; several other keys may arrive at once.
    if (!text.startsWith("\u001b")) for (const key of text) handler(key);
  };
  stdin.setRawMode(true);
  stdin.on("data", listener);
  stdin.resume();
  return () => {
    stdin.off("data", listener);
    stdin.setRawMode(false);
    stdin.pause();
  };
}

function openTerminal(): Terminal | undefined {
  const { stdin, stdout } = process;
  if (!isatty(0) || !isatty(1)) return undefined;
  return {
    size: () => ({ rows: stdout.rows, columns: stdout.columns }),
    setRaw(isRaw) {
      stdin.setRawMode(isRaw);
      // Node's raw mode still converts every line feed to a return; remote programs mean what they send.
      if (isRaw) spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
    },
  };
}

function createSink(stream: NodeJS.WriteStream & { readonly fd: number }): Sink {
  // Every write reports its own failure; without this listener the stream's error event would crash the process.
  stream.on("error", () => undefined);
  return {
    isTerminal: isatty(stream.fd),
    get columns() {
      return stream.columns as number | undefined;
    },
    get rows() {
      return stream.rows as number | undefined;
    },
    write: (data) =>
      data.length === 0
        ? Promise.resolve()
        : new Promise((resolve, reject) => {
            stream.write(data, (error) => (error ? reject(error) : resolve()));
          }),
  };
}

const sleep = (delayMs: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, delayMs);
    signal.addEventListener("abort", end);
  });
