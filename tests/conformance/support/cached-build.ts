import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const cache = fileURLToPath(new URL("../../../node_modules/.cache", import.meta.url));

/** Something that tests need and that takes long to make. */
export interface CachedBuild {
  /** Where it is kept, in the cache. */
  readonly name: string;
  /** Directories of files it is made of: a change of any makes it anew. */
  readonly from: readonly string[];
  /** The same, of what is in no file: versions of packages. */
  readonly versions?: readonly string[];
  /** Makes it in this empty directory. */
  make(directory: string): Promise<void>;
}

/** The directory it is in: made once, and kept. */
export async function cachedBuild(build: CachedBuild): Promise<string> {
  const directory = join(cache, build.name, fingerprint(build));
  if (existsSync(directory)) return directory;
  // Put in its place when it is complete: a test that is stopped leaves nothing half made.
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

/** Changes with every file that it is made of. */
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
    // Another test was faster; what it made is the same.
    if (!existsSync(directory)) throw error;
  }
}
