import { crc32 } from "node:zlib";

/** The checksum of a row, over its key, its value and the revision that wrote it. */
export function rowChecksum(keyAndValue: string, revision: number): number {
  // The revision is the start value, so that any other revision gives another checksum.
  return crc32(keyAndValue, (revision ^ Math.floor(revision / 2 ** 32)) >>> 0);
}

/** Adds and subtracts checksums in any order, as rows are written and deleted. */
export const sumChecksums = (digest: number, added: number, taken = 0): number =>
  (digest + added - taken) >>> 0;
