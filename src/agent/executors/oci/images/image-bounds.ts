import { type StatsFs, statfsSync } from "node:fs";
import { setImmediate, setTimeout } from "node:timers/promises";

import { limits } from "../../../../limits.ts";
import { type DiskUse, measure, measuring } from "./disk-use.ts";

/** The most that one image may use on the disk of its node, and the free space that it must leave. */
export interface ImageBounds {
  readonly bytesMax: number;
  readonly filesMax: number;
  readonly reserveBytes: number;
  readonly reserveFiles: number;
}

export const imageBounds: ImageBounds = {
  bytesMax: limits.oneImageBytesMax,
  filesMax: limits.oneImageFilesMax,
  reserveBytes: limits.imageReserveBytes,
  reserveFiles: limits.imageReserveFiles,
};

/** "image": it is larger than any image may be; "disk": the node has too little space left for it. */
export type Excess = "image" | "disk";

/** The result of the work that made an image grow, and the size that it reached. */
export interface Growth<T> {
  readonly result: T;
  readonly use: DiskUse;
  /** undefined: it stayed within its bounds. */
  readonly excess: Excess | undefined;
}

/**
 * Measures `directory` while `work` fills it, and aborts `work` at the bounds. The size that an image or a registry declares proves
 * nothing: an archive of a megabyte may hold a sparse file of a terabyte, which is written with all its zeros, or a million empty files.
 * The free space is cheap to look at, so that the reserve holds on a fast disk too; a measurement takes as long as there are files.
 */
export async function withinBounds<T>(
  directory: string,
  bounds: ImageBounds,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<Growth<T>> {
  const ended = new AbortController();
  const exceeded = new AbortController();
  const checkSpace = (): void => {
    if (isShortOfSpace(directory, bounds)) exceeded.abort();
  };
  checkSpace();
  const timer = setInterval(checkSpace, limits.imageSpaceCheckMs);
  const either = AbortSignal.any([ended.signal, exceeded.signal]);
  const watching = watchSize(directory, bounds, either).then((seen) => {
    if (isOverBounds(seen, bounds)) exceeded.abort();
    return seen;
  });
  try {
    const result = await work(exceeded.signal);
    const left = measure(directory);
    ended.abort();
    const use = larger(left, await watching); // a program that fails may remove its files
    const excess = exceeded.signal.aborted ? "disk" : undefined;
    return { result, use, excess: isOverBounds(use, bounds) ? "image" : excess };
  } finally {
    clearInterval(timer);
    ended.abort();
    await watching;
  }
}

/** Measures until the directory outgrows the bounds, or the signal; returns the largest size. Timers go on meanwhile. */
async function watchSize(
  directory: string,
  bounds: ImageBounds,
  signal: AbortSignal,
): Promise<DiskUse> {
  let largest: DiskUse = { bytes: 0, files: 0 };
  while (!signal.aborted) {
    const beginMs = performance.now();
    for (const use of measuring(directory)) {
      largest = larger(use, largest);
      if (isOverBounds(use, bounds) || signal.aborted) return largest;
      if (use.files % limits.imageMeasureSlice === 0) await setImmediate();
    }
    const restMs = limits.imageMeasureRestFactor * (performance.now() - beginMs);
    const pauseMs = Math.max(limits.imageMeasureMsMin, restMs);
    await setTimeout(pauseMs, undefined, { signal }).catch(() => undefined);
  }
  return largest;
}

const larger = (one: DiskUse, other: DiskUse): DiskUse => ({
  bytes: Math.max(one.bytes, other.bytes),
  files: Math.max(one.files, other.files),
});

const isOverBounds = ({ bytes, files }: DiskUse, { bytesMax, filesMax }: ImageBounds): boolean =>
  bytes > bytesMax || files > filesMax;

function isShortOfSpace(directory: string, bounds: ImageBounds): boolean {
  try {
    return isShort(statfsSync(directory), bounds);
  } catch {
    return false; // the run was stopped, and its files were removed: the work fails by itself
  }
}

type Space = Pick<StatsFs, "bsize" | "blocks" | "bavail" | "files" | "ffree">;

/** Like the floor below which an agent starts nothing (see diskFault), and above it. */
export function isShort(
  { bsize, blocks, bavail, files, ffree }: Space,
  { reserveBytes, reserveFiles }: Pick<ImageBounds, "reserveBytes" | "reserveFiles">,
): boolean {
  if (bavail * bsize < Math.min(reserveBytes, (blocks * bsize) / 32)) return true;
  return files > 0 && ffree < Math.min(reserveFiles, files / 32); // some do not count inodes
}
