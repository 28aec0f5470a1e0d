import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const cache = fileURLToPath(new URL("../../../node_modules/.cache", import.meta.url));

/** Programs in Go that tests drive. */
export interface GoPrograms {
  /** Where they are kept, in the cache. */
  readonly name: string;
  /** A directory with go.mod. */
  readonly sources: string;
  /** One program each. */
  readonly packages: readonly string[];
  /** What is made before, in a copy of the sources, of what is in further directories. */
  readonly generated?: {
    readonly from: readonly string[];
    make(copy: string): Promise<void>;
  };
}

/**
 * The directory they are in: built once from what they are made of, and kept. Fails where there is
 * no Go, or no proxy and nothing kept.
 */
export async function builtPrograms(programs: GoPrograms): Promise<string> {
  const directory = join(cache, programs.name, fingerprint(programs));
  if (!existsSync(directory)) await build(programs, directory);
  return directory;
}

/** Runs a command of the build. */
export async function inCopy(copy: string, command: string, args: readonly string[]) {
  await run(command, args, { cwd: copy, timeout: 280_000 });
}

/** Changes with every file that the programs are made of. */
function fingerprint({ sources, generated }: GoPrograms): string {
  const hash = createHash("sha256");
  for (const directory of [sources, ...(generated?.from ?? [])]) {
    for (const name of globSync("**/*.*", { cwd: directory }).toSorted()) {
      hash.update(`${name}\0`).update(readFileSync(join(directory, name)));
    }
  }
  return hash.digest("hex").slice(0, 16);
}

async function build(programs: GoPrograms, directory: string): Promise<void> {
  // Put in its place when it is complete: a test that is stopped leaves nothing half made.
  const copy = `${directory}.${process.pid}`;
  const built = join(copy, "built");
  mkdirSync(join(cache, programs.name), { recursive: true });
  try {
    cpSync(programs.sources, copy, { recursive: true });
    mkdirSync(built);
    await programs.generated?.make(copy);
    const packages = programs.packages.map((name) => `./${name}`);
    await inCopy(copy, "go", ["build", "-o", built, ...packages]);
    putInPlace(built, directory);
  } catch (cause) {
    throw new Error(
      "programs in Go cannot be built, which these tests drive: they need go of 1.20 or later, and " +
        "its proxy of modules once",
      { cause },
    );
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function putInPlace(built: string, directory: string): void {
  try {
    renameSync(built, directory);
  } catch (error) {
    // Another test was faster; what it built is the same.
    if (!existsSync(directory)) throw error;
  }
}
