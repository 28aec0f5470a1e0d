import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const cache = path("../../../node_modules/.cache/rainbow-python");

/** The output of rainbow's client, and its result or the server's error. */
export interface Told {
  readonly printed: string;
  readonly returned?: unknown;
  readonly failed?: { readonly code: string; readonly text: string };
}

/** A release of rainbow-scheduler from PyPI in its own Python. */
export interface RainbowPython {
  /** The interpreter, with grpcio. */
  readonly python: string;
  /** A method of its client, with this configuration file. */
  client(config: string, method: string, args: object): Promise<Told>;
  /** A method of its stubs, at this address. */
  stubs(host: string, method: string, request: object): Promise<Told>;
}

/** Built once, and cached. Fails where there is no Python, or no registry and no cache. */
export async function rainbowPython(version: string): Promise<RainbowPython> {
  const directory = join(cache, version);
  if (!existsSync(directory)) await install(version, directory);
  const python = join(directory, "bin/python");
  const call = async (script: string, ...args: string[]): Promise<Told> => {
    const options = { timeout: 60_000, env: { ...process.env, no_proxy: "*" } };
    const { stdout } = await run(python, [path(`../rainbow/${script}`), ...args], options);
    return toTold(stdout);
  };
  return {
    python,
    client: (config, method, args) => call("client.py", config, method, JSON.stringify(args)),
    stubs: (host, method, request) => call("stubs.py", host, method, JSON.stringify(request)),
  };
}

async function install(version: string, directory: string): Promise<void> {
  // Moved into place when it is complete: an interrupted test leaves nothing half built.
  const making = `${directory}.${process.pid}`;
  mkdirSync(cache, { recursive: true });
  try {
    await run("python3", ["-m", "venv", making]);
    const packages = [`rainbow-scheduler==${version}`, "PyYAML"]; // a dependency that it does not declare
    await run(join(making, "bin/pip"), ["install", "--quiet", ...packages], { timeout: 240_000 });
    if (!existsSync(directory)) renameSync(making, directory);
  } catch (cause) {
    throw new Error(
      `rainbow-scheduler ${version} cannot be installed, which these tests drive: they need python3 ` +
        "with venv, and PyPI once",
      { cause },
    );
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

function toTold(stdout: string): Told {
  const lines = stdout.trimEnd().split("\n");
  const last = lines.pop() ?? "";
  const printed = lines.join("\n");
  const [, kind, json = ""] = /^(RETURNED|FAILED) (.*)$/.exec(last) ?? [];
  if (kind === "RETURNED") return { printed, returned: JSON.parse(json) };
  if (kind === "FAILED")
    return { printed, failed: JSON.parse(json) as NonNullable<Told["failed"]> };
  throw new Error(`the client said nothing: ${stdout}`);
}
