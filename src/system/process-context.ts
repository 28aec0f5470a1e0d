import { hostname } from "node:os";
import { isatty } from "node:tty";
import type { Context, Services, Sink } from "../cli/context.ts";
import { identifyDirectory } from "../lib/files/directory-id.ts";
import { readInput } from "./input.ts";
import { replaceFile, writeNewFiles } from "./output-files.ts";

/** The command line's view of the process it runs in. */
export function createProcessContext(services: Services): Context {
  return {
    env: process.env,
    cwd: process.cwd(),
    directoryId: () => identifyDirectory(process.cwd()),
    hostname: hostname(),
    stdout: createSink(process.stdout),
    stderr: createSink(process.stderr),
    services,
    nowMs: () => Date.now(),
    sleep,
    readInput,
    writeNewFiles,
    replaceFile,
    onInterrupt(handler) {
      process.on("SIGINT", handler);
      return () => process.off("SIGINT", handler);
    },
    exitNow: (code) => process.exit(code),
  };
}

function createSink(stream: NodeJS.WriteStream & { readonly fd: number }): Sink {
  // Every write reports its own failure; without a listener the stream's report would be a crash.
  stream.on("error", () => undefined);
  return {
    isTerminal: isatty(stream.fd),
    get columns() {
      return stream.columns as number | undefined;
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
