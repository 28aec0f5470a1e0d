import { execFile } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { promisify } from "node:util";
import { cachedBuild } from "./cached-build.ts";

const run = promisify(execFile);

/** Go programs that tests use. */
export interface GoPrograms {
  /** Their place in the cache. */
  readonly name: string;
  /** A directory with go.mod. */
  readonly sources: string;
  /** One program each. */
  readonly packages: readonly string[];
  /** A step before the build, in a copy of the sources, with further directories. */
  readonly generated?: {
    readonly from: readonly string[];
    make(copy: string): Promise<void>;
  };
}

/** The directory of the programs: built once from their sources, and cached. Fails where there is no Go, or no proxy and no cache. */
export const builtPrograms = (programs: GoPrograms): Promise<string> =>
  cachedBuild({
    name: programs.name,
    from: [programs.sources, ...(programs.generated?.from ?? [])],
    make: (directory) => build(programs, directory),
  });

/** Runs a command of the build. */
export async function inCopy(copy: string, command: string, args: readonly string[]) {
  await run(command, args, { cwd: copy, timeout: 540_000 });
}

async function build(programs: GoPrograms, built: string): Promise<void> {
  const copy = `${built}.copy`;
  try {
    cpSync(programs.sources, copy, { recursive: true });
    await programs.generated?.make(copy);
    const packages = programs.packages.map((name) => `./${name}`);
    await inCopy(copy, "go", ["build", "-o", `${built}/`, ...packages]);
  } catch (cause) {
    throw new Error(
      "programs in Go cannot be built, which these tests drive: they need the go of their go.mod or " +
        "later, and its proxy of modules once",
      { cause },
    );
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
