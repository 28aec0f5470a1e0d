import * as zlib from "node:zlib";

export type Encoding = "zstd" | "gzip";

// Absent in builds of Node before 22.15.
const hasZstd = typeof zlib.zstdCompressSync === "function";

/** What this process can pack and unpack, best first. */
export const ENCODINGS: readonly Encoding[] = hasZstd ? ["zstd", "gzip"] : ["gzip"];

/** The best one that both ends know; undefined: none. */
export const commonEncoding = (theirs: readonly string[]): Encoding | undefined =>
  ENCODINGS.find((encoding) => theirs.includes(encoding));

/** For small pieces, on the thread of the caller: about 100 MB a second, gzip half of that. */
export function pack(encoding: Encoding, bytes: Uint8Array): Buffer {
  if (encoding === "zstd") return zlib.zstdCompressSync(bytes);
  return zlib.gzipSync(bytes, { level: 1 });
}

/** Throws when the bytes are no such, or unpack to more than `bytesMax`. */
export function unpack(encoding: string, bytes: Uint8Array, bytesMax: number): Uint8Array {
  const most = { maxOutputLength: bytesMax };
  if (encoding === "") return bytes;
  if (encoding === "zstd" && hasZstd) return zlib.zstdDecompressSync(bytes, most);
  if (encoding === "gzip") return zlib.gunzipSync(bytes, most);
  throw new Error(`encoding ${JSON.stringify(encoding)} is not known; ${ENCODINGS.join(", ")} are`);
}
