import { crc32 } from "node:zlib";

/** The checksum of a row, over its key, its value and the revision that wrote it. */
export function rowChecksum(keyAndValue: string, revision: number): number {
  // The revision is the start value: any other one leads to another checksum.
  return crc32(keyAndValue, (revision ^ Math.floor(revision / 2 ** 32)) >>> 0);
}

/** Adds and takes checksums in any order, as rows come and go. */
export const sumChecksums = (digest: number, added: number, taken = 0): number =>
  (digest + added - taken) >>> 0;
