import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Distinguishes the jobs of this directory from all others of the same scheduler: made once, and stored with the runs. */
export function readOwner(directory: string): string {
  const path = join(directory, "owner");
  const own = `${path}.${process.pid}`;
  writeFileSync(own, randomBytes(6).toString("hex"), { mode: 0o600 });
  try {
    linkSync(own, path);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    rmSync(own, { force: true });
  }
  return readFileSync(path, "utf8");
}
