import { createReadStream } from "node:fs";
import { invalid } from "../lib/errors.ts";
import { formatBytes } from "../lib/units.ts";

/** A file, or standard input for "-". Reads no more than it must to know that it is too large. */
export async function readInput(path: string, bytesMax: number): Promise<Buffer> {
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
  if (size > bytesMax) throw invalid(path, `is larger than ${formatBytes(bytesMax)}`);
  return Buffer.concat(chunks);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "must not be read by you",
  EISDIR: "is a directory, not a file",
};

function explain(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return REASONS[code] ?? `cannot be read (${code})`;
}
