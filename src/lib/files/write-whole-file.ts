import { rmSync, writeFileSync } from "node:fs";

/** Writes a new file for this user only, and flushes it. Leaves none behind when it cannot be written whole, as on a full disk. */
export function writeWholeFile(file: string, bytes: Uint8Array): void {
  try {
    writeFileSync(file, bytes, { mode: 0o600, flush: true });
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  }
}
