import { statSync, truncateSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";

import type { OutputPart } from "../../ports/executor.ts";

export type Stream = "stdout" | "stderr";

const STREAMS: readonly Stream[] = ["stdout", "stderr"];

/**
 * Cuts streams that are longer than their limit, whether or not the command still writes: the command appends, so a cut removes no retained
 * byte and the next write follows the cut. One byte more than the limit stays: readers never receive it, and it shows, also after a
 * restart, that the stream was longer.
 */
export function cutOutput(directory: string, limitBytes: number): void {
  for (const stream of STREAMS) {
    const path = join(directory, stream);
    try {
      if (sizeOf(path) > limitBytes + 1) truncateSync(path, limitBytes + 1);
    } catch {
      // The file then stays long; readers receive bytes up to the limit all the same.
    }
  }
}

export const outputBytes = (directory: string): number =>
  STREAMS.reduce((sum, stream) => sum + sizeOf(join(directory, stream)), 0);

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

export interface ReadRequest {
  readonly path: string;
  readonly offset: number;
  readonly maxBytes: number;
  readonly limitBytes: number;
  /** Determined before the read: if true, the read returns the complete stream. */
  readonly hasEnded: boolean;
}

/** Reads the current bytes past `offset`. A missing file counts as empty. */
export async function readPart(request: ReadRequest): Promise<OutputPart> {
  const { offset, limitBytes, hasEnded } = request;
  const file = await open(request.path, "r").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (file === undefined) return { data: new Uint8Array(), eof: hasEnded, truncated: false };
  try {
    const { size } = await file.stat();
    const end = Math.min(size, limitBytes);
    const wanted = Math.max(0, Math.min(end - offset, request.maxBytes));
    const { bytesRead, buffer } = await file.read(new Uint8Array(wanted), 0, wanted, offset);
    return {
      data: buffer.subarray(0, bytesRead),
      eof: hasEnded && offset + bytesRead >= end,
      truncated: size > limitBytes,
    };
  } finally {
    await file.close();
  }
}
