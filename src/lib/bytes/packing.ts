import * as zlib from "node:zlib";

export type Encoding = "zstd" | "gzip";

// Node before 22.15 does not have it.
const hasZstd = typeof zlib.zstdCompressSync === "function";

/** The encodings that this process can pack and unpack, best first. */
export const ENCODINGS: readonly Encoding[] = hasZstd ? ["zstd", "gzip"] : ["gzip"];

/** The best encoding that both ends support; undefined: none. */
export const commonEncoding = (theirs: readonly string[]): Encoding | undefined =>
  ENCODINGS.find((encoding) => theirs.includes(encoding));

/** For small pieces, on the caller's thread: zstd packs about 100 MB a second, gzip half of that. */
export function pack(encoding: Encoding, bytes: Uint8Array): Buffer {
  if (encoding === "zstd") return zlib.zstdCompressSync(bytes);
  return zlib.gzipSync(bytes, { level: 1 });
}

/** Throws when the bytes are not of this encoding, or unpack to more than `bytesMax`. */
export function unpack(encoding: string, bytes: Uint8Array, bytesMax: number): Uint8Array {
  const most = { maxOutputLength: bytesMax };
  if (encoding === "") return bytes;
  if (encoding === "zstd" && hasZstd) return zlib.zstdDecompressSync(bytes, most);
  if (encoding === "gzip") return zlib.gunzipSync(bytes, most);
  throw new Error(`encoding ${JSON.stringify(encoding)} is not known; ${ENCODINGS.join(", ")} are`);
}
