import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const cache = fileURLToPath(new URL("../../../node_modules/.cache", import.meta.url));

/** A dependency of tests that takes long to build. */
export interface CachedBuild {
  /** Its place in the cache. */
  readonly name: string;
  /** Directories of its sources: a change of any file builds it again. */
  readonly from: readonly string[];
  /** The same for inputs that are not files: versions of packages. */
  readonly versions?: readonly string[];
  /** Builds it in this empty directory. */
  make(directory: string): Promise<void>;
}

/** The directory of the build: built once, and cached. */
export async function cachedBuild(build: CachedBuild): Promise<string> {
  const directory = join(cache, build.name, fingerprint(build));
  if (existsSync(directory)) return directory;
  // Moved into place when it is complete: an interrupted test leaves nothing half built.
  const making = `${directory}.${process.pid}`;
  mkdirSync(dirname(directory), { recursive: true });
  try {
    mkdirSync(making);
    await build.make(making);
    putInPlace(making, directory);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return directory;
}

/** Changes with every source file. */
function fingerprint({ from, versions = [] }: CachedBuild): string {
  const hash = createHash("sha256").update(versions.join("\0"));
  for (const directory of from) {
    for (const name of globSync("**/*.*", { cwd: directory }).toSorted()) {
      hash.update(`${name}\0`).update(readFileSync(join(directory, name)));
    }
  }
  return hash.digest("hex").slice(0, 16);
}

function putInPlace(made: string, directory: string): void {
  try {
    renameSync(made, directory);
  } catch (error) {
    // Another test was faster; its result is the same.
    if (!existsSync(directory)) throw error;
  }
}
