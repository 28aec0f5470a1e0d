import { open, stat } from "node:fs/promises";
import { join } from "node:path";

import type { OutputPart } from "../../../ports/executor.ts";
import type { ByteRange } from "../../runs/output-reader.ts";
import type { Stream } from "../../runs/output.ts";

/** The output of one part of a run. */
export interface Piece {
  readonly directory: string;
  /** A heading before its stdout; empty: none. */
  readonly title: string;
  /** never: it did not run and will not. */
  readonly state: "waiting" | "running" | "ended" | "never";
}

/**
 * The output of several parts as one stream, in their order. Output after an active part is not read
 * before that part has ended: bytes that a reader has received keep their place.
 */
export async function readJoined(
  pieces: readonly Piece[],
  stream: Stream,
  { offset, maxBytes }: ByteRange,
  limitBytes: number,
): Promise<OutputPart> {
  const { segments, isComplete } = await segmentsOf(pieces, stream);
  const size = segments.reduce((sum, segment) => sum + segment.size, 0);
  const end = Math.min(size, limitBytes);
  const wanted = Math.max(0, Math.min(maxBytes, end - offset));
  const data = wanted === 0 ? new Uint8Array() : await readAt(segments, offset, wanted);
  return {
    data,
    eof: isComplete && offset + data.length >= end,
    truncated: size > limitBytes,
  };
}

type Segment =
  | { readonly kind: "text"; readonly size: number; readonly bytes: Uint8Array }
  | { readonly kind: "file"; readonly size: number; readonly path: string };

/** Up to the first part that may still write. */
async function segmentsOf(
  pieces: readonly Piece[],
  stream: Stream,
): Promise<{ segments: Segment[]; isComplete: boolean }> {
  const segments: Segment[] = [];
  for (const { directory, title, state } of pieces) {
    if (state === "never") continue;
    if (state === "waiting") return { segments, isComplete: false };
    const bytes = Buffer.from(stream === "stdout" ? title : "");
    const path = join(directory, stream);
    // Read when the end of the part is already known, so the size is final.
    const size = (await stat(path).catch(() => undefined))?.size ?? 0;
    segments.push({ kind: "text", size: bytes.length, bytes }, { kind: "file", size, path });
    if (state === "running") return { segments, isComplete: false };
  }
  return { segments, isComplete: true };
}

/** Reads from the one segment that holds `offset`, at most `wanted` bytes of it. */
async function readAt(
  segments: readonly Segment[],
  offset: number,
  wanted: number,
): Promise<Uint8Array> {
  let at = offset;
  for (const segment of segments) {
    if (at >= segment.size) {
      at -= segment.size;
      continue;
    }
    const length = Math.min(wanted, segment.size - at);
    if (segment.kind === "text") return segment.bytes.subarray(at, at + length);
    const file = await open(segment.path, "r");
    try {
      const { bytesRead, buffer } = await file.read(new Uint8Array(length), 0, length, at);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }
  return new Uint8Array();
}
