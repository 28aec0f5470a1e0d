import { closeSync, openSync, readSync } from "node:fs";
import { crc32 } from "node:zlib";

/** https://www.sqlite.org/fileformat.html: the parts of the header that SQLite changes when it writes. */
const CHANGING = [
  [18, 20], // format: journal or log
  [24, 40], // change counter, size, free pages
  [92, 100], // the version that wrote last
] as const;
const PAGE_BYTES = 4096;

/**
 * A checksum of the first page without its changing parts: header and schema are the same from one migration to the next, and no checksum
 * of a row covers them.
 *
 * Call it before SQLite opens the file: closing a descriptor drops the locks of the whole process.
 */
export function checksumFirstPage(file: string): number {
  const page = Buffer.alloc(PAGE_BYTES);
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, page, 0, PAGE_BYTES, 0);
  } finally {
    closeSync(descriptor);
  }
  for (const [from, to] of CHANGING) page.fill(0, from, to);
  return crc32(page);
}
