import { createReadStream, fstatSync, openSync } from "node:fs";
import { isatty } from "node:tty";
import type { Context, InputSource } from "../cli/context.ts";
import { invalid } from "../lib/errors.ts";
import { formatBytes } from "../lib/units.ts";

/** Reads a file, or standard input for "-". Stops reading as soon as the input is too large; `advice` says what to do then. */
export async function readInput(path: string, bytesMax: number, advice = ""): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const source = path === "-" ? process.stdin : createReadStream(path);
    for await (const chunk of source as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > bytesMax) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw invalid(path, explain(error));
  }
  if (size > bytesMax) throw invalid(path, `is larger than ${formatBytes(bytesMax)}${advice}`);
  return Buffer.concat(chunks);
}

/** Sockets count as "other": programs that start this one often leave one open that never ends. */
export function stdinKind(): Context["stdin"] {
  if (isatty(0)) return "terminal";
  try {
    const stat = fstatSync(0);
    return stat.isFIFO() || stat.isFile() ? "pipe" : "other";
  } catch {
    return "other"; // standard input was closed
  }
}

/** A file, or standard input for "-". Reads nothing before the caller asks for it. */
export function openInput(path: string): InputSource {
  const stream = path === "-" ? process.stdin : createReadStream("", { fd: openFile(path) });
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  return {
    async read() {
      try {
        const { value, done } = await chunks.next();
        return done === true ? undefined : value;
      } catch (error) {
        throw invalid(path, explain(error));
      }
    },
    close() {
      stream.on("error", () => undefined);
      stream.destroy();
    },
  };
}

function openFile(path: string): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    throw invalid(path, explain(error));
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "you have no permission to read it",
  EISDIR: "is a directory, not a file",
};

function explain(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return REASONS[code] ?? `cannot be read (${code})`;
}
