import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { OutputPart } from "../../../ports/executor.ts";
import type { RemoteShell } from "../../../ports/remote-shell.ts";
import type { RemotePlace } from "./commands.ts";
import { pathOf, naps, script } from "./commands.ts";
import { parseTerms } from "./run-file.ts";
import { READ } from "./scripts/run-scripts.ts";

export interface ReadQuery {
  readonly stream: "stdout" | "stderr";
  readonly offset: number;
  readonly maxBytes: number;
  readonly waitMs: number;
  /** The run is active: if it has no output yet, the reader waits for it. */
  readonly isActive: boolean;
}

/** A part of a run's output, from its machine's disk. Throws `not_found` where there is none. */
export async function readRemoteOutput(
  { shell, place }: { readonly shell: RemoteShell; readonly place: RemotePlace },
  key: string,
  { stream, offset, ...query }: ReadQuery,
): Promise<OutputPart> {
  const most = Math.min(query.maxBytes, limits.outputChunkBytesMax);
  const waitMs = Math.min(query.waitMs, limits.outputWaitMsMax);
  const numbers = [String(offset), String(most), naps(waitMs), query.isActive ? "1" : "0"];
  const command = script(place, READ, pathOf(place, key), stream, ...numbers);
  const timeoutMs = waitMs + limits.remoteCommandMsMax;
  const { stdout } = await shell.exec(command, { timeoutMs });
  const [, sizeText, hasEnded, termsLine = ""] = /^(\d+) ([01]) (.*)/.exec(stdout) ?? [];
  if (sizeText === undefined) {
    throw new AppError("not_found", `the output of ${key} does not exist or was removed`);
  }
  const size = Number(sizeText);
  const limit = parseTerms(termsLine)?.outputLimitBytes ?? Number.POSITIVE_INFINITY;
  const end = Math.min(size, limit);
  const bytes = Buffer.from(stdout.slice(stdout.indexOf("\n") + 1), "base64");
  const data = new Uint8Array(bytes.subarray(0, Math.max(0, end - offset)));
  return {
    data,
    eof: hasEnded === "1" && offset + data.length >= end,
    truncated: size > limit,
  };
}
