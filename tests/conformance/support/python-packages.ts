import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { cachedBuild } from "./cached-build.ts";

const run = promisify(execFile);

/**
 * A Python interpreter with these packages ("grpcio==1.85.1"), installed once and cached. Fails where there is no Python, or no registry
 * and no cache.
 */
export async function pythonWith(name: string, packages: readonly string[]): Promise<string> {
  const directory = await cachedBuild({
    name,
    from: [],
    versions: packages,
    make: (venv) => install(venv, packages),
  });
  return join(directory, "bin/python");
}

async function install(venv: string, packages: readonly string[]): Promise<void> {
  try {
    await run("python3", ["-m", "venv", venv]);
    const args = ["-m", "pip", "install", "--quiet", ...packages];
    await run(join(venv, "bin/python"), args, { timeout: 240_000 });
  } catch (cause) {
    throw new Error(
      `${packages.join(", ")} cannot be installed, which these tests use: they need python3 with venv, ` +
        "and PyPI once",
      { cause },
    );
  }
}
